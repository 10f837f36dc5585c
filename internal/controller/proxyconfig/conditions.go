package proxyconfig

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/noproxy"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is what findings of this loop are about.
const component = "ProxyConfig"

// The reasons of findings and events. Programs and people know them from OpenShift.
const (
	reasonInvalid    = "InvalidProxyConfig"
	reasonGenerate   = "GenerateConfigMapFailure"
	reasonMerge      = "ProxyCAMergeFailure"
	reasonEnsure     = "EnsureProxyConfigFailure"
	reasonInfra      = "InfraConfigError"
	reasonNetwork    = "NetworkConfigError"
	reasonCluster    = "ClusterConfigError"
	reasonStatus     = "StatusError"
	reasonValidation = "TrustBundleValidationFailure"
	reasonSync       = "TrustBundleSyncFailure"

	// reasonRemark is that of events about what was taken although something is odd about it.
	reasonRemark = "TrustedCARemark"
	// reasonFollowed is that of the event that a Proxy is in effect.
	reasonFollowed = "ProxyConfigured"
)

// reasonOf is the reason for what NO_PROXY cannot be made of.
func reasonOf(s noproxy.Source) string {
	switch s {
	case noproxy.Network:
		return reasonNetwork
	case noproxy.InstallConfig:
		return reasonCluster
	}
	return reasonInfra
}

// note is an event on the Proxy.
type note struct{ reason, message string }

// kept ends every message about something that is refused.
const kept = "Proxy kept at previous setting"

// explain says everything that is wrong, once for the cluster, and each thing by itself where the Proxy is looked at.
func explain(w *world, v verdict, failed []answer) ([]status.Finding, []note) {
	findings, notes := mistakes(v, failed)
	bySource := map[string][]note{}
	for _, p := range v.missing {
		reason := reasonOf(p.Source)
		bySource[reason] = append(bySource[reason], note{reason, p.Message})
	}
	for _, reason := range []string{reasonNetwork, reasonInfra, reasonCluster} {
		if missing := bySource[reason]; len(missing) > 0 {
			findings = append(findings, degraded(reason, "NO_PROXY cannot be determined: "+joined(missing)+". "+kept))
			notes = append(notes, missing...)
		}
	}
	if v.tooLarge != "" {
		findings = append(findings, degraded(reasonMerge, v.tooLarge+". "+kept))
		notes = append(notes, note{reasonMerge, v.tooLarge})
	}
	if w.system.path == "" {
		findings = append(findings, degraded(reasonGenerate, fmt.Sprintf(
			"the system's certificate authorities cannot be read (%s), so that ConfigMap %s/%s has none of them; mount a bundle into the operator's pod", w.system.problem, BundleNamespace, BundleName)))
	}
	for _, remark := range v.remarks {
		notes = append(notes, note{reasonRemark, fmt.Sprintf("ConfigMap %s/%s: %s", UserNamespace, w.proxy.Spec.TrustedCA.Name, remark)})
	}
	return findings, notes
}

// mistakes explains what is wrong with the Proxy itself, and with the ConfigMap that it names. The latter may be about to be
// made or mended, and is Degraded only if it lasts.
func mistakes(v verdict, failed []answer) (findings []status.Finding, notes []note) {
	var invalid, untrusted []note
	for _, err := range v.invalid {
		invalid = append(invalid, note{reasonInvalid, err.Error()})
	}
	for _, a := range failed {
		invalid = append(invalid, note{reasonInvalid, fmt.Sprintf("%s: %s", a.at, a.problem)})
	}
	for _, err := range v.errs {
		untrusted = append(untrusted, note{reasonInvalid, err.Error()})
	}
	if len(invalid) > 0 {
		f := degraded(reasonInvalid, "Proxy/cluster: "+joined(invalid)+". "+kept)
		f.Immediate = true
		findings = append(findings, f)
	}
	if len(untrusted) > 0 {
		f := degraded(reasonInvalid, "Proxy/cluster: "+joined(untrusted)+". "+kept)
		f.Subject = "trustedCA"
		findings = append(findings, f)
	}
	return findings, append(invalid, untrusted...)
}

// longestMessage is how many bytes of what is wrong a condition carries; each thing is an event of its own.
const longestMessage = 4000

func joined(notes []note) string {
	var all []string
	for _, n := range notes {
		all = append(all, n.message)
	}
	text := strings.Join(all, "; ")
	if len(text) > longestMessage {
		text = fmt.Sprintf("%s... (%d problems)", strings.ToValidUTF8(text[:longestMessage], ""), len(notes))
	}
	return text
}

func degraded(reason, message string) status.Finding {
	return status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message}
}

// failed is the finding about something that could not be read or written.
func failed(f failure) status.Finding { return degraded(cmp.Or(f.reason, reasonStatus), f.Error()) }
