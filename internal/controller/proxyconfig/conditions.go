package proxyconfig

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/noproxy"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the component of the controller's findings.
const component = "ProxyConfig"

// Reasons of findings and events, the same as in OpenShift.
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

	// reasonRemark is the reason of events about accepted but unusual certificates.
	reasonRemark = "TrustedCARemark"
	// reasonFollowed is the reason of the event after a Proxy was applied.
	reasonFollowed = "ProxyConfigured"
)

// reasonOf returns the reason for a missing source of NO_PROXY.
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

// keptSuffix ends the message of every refusal.
const keptSuffix = "Proxy kept at previous setting"

// explain returns the findings for the cluster, and a note for each single problem.
func explain(w *input, v assessment, failed []probeResult) ([]status.Finding, []note) {
	findings, notes := specProblems(v, failed)
	bySource := map[string][]note{}
	for _, p := range v.missing {
		reason := reasonOf(p.Source)
		bySource[reason] = append(bySource[reason], note{reason, p.Message})
	}
	for _, reason := range []string{reasonNetwork, reasonInfra, reasonCluster} {
		if missing := bySource[reason]; len(missing) > 0 {
			findings = append(findings, degraded(reason, "NO_PROXY cannot be determined: "+joinMessages(missing)+". "+keptSuffix))
			notes = append(notes, missing...)
		}
	}
	if v.tooLarge != "" {
		findings = append(findings, degraded(reasonMerge, v.tooLarge+". "+keptSuffix))
		notes = append(notes, note{reasonMerge, v.tooLarge})
	}
	if w.system.path == "" {
		findings = append(findings, degraded(reasonGenerate, fmt.Sprintf(
			"the system's CA certificates cannot be read (%s), so that ConfigMap %s/%s has none of them; mount a bundle into the operator's pod", w.system.problem, BundleNamespace, BundleName)))
	}
	for _, remark := range v.remarks {
		notes = append(notes, note{reasonRemark, fmt.Sprintf("ConfigMap %s/%s: %s", UserNamespace, w.proxy.Spec.TrustedCA.Name, remark)})
	}
	return findings, notes
}

// specProblems returns the findings and notes about the Proxy and the ConfigMap that it names. The latter may be created soon, and is
// Degraded only after a delay.
func specProblems(v assessment, failed []probeResult) (findings []status.Finding, notes []note) {
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
		f := degraded(reasonInvalid, "Proxy/cluster: "+joinMessages(invalid)+". "+keptSuffix)
		f.Immediate = true
		findings = append(findings, f)
	}
	if len(untrusted) > 0 {
		f := degraded(reasonInvalid, "Proxy/cluster: "+joinMessages(untrusted)+". "+keptSuffix)
		f.Subject = "trustedCA"
		findings = append(findings, f)
	}
	return findings, append(invalid, untrusted...)
}

// maxMessage is the maximum length of the problems in a condition, in bytes; each problem is also an event.
const maxMessage = 4000

func joinMessages(notes []note) string {
	var all []string
	for _, n := range notes {
		all = append(all, n.message)
	}
	text := strings.Join(all, "; ")
	if len(text) > maxMessage {
		text = fmt.Sprintf("%s... (%d problems)", strings.ToValidUTF8(text[:maxMessage], ""), len(notes))
	}
	return text
}

func degraded(reason, message string) status.Finding {
	return status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message}
}

// failed returns the finding about a read or write error.
func failed(f failure) status.Finding { return degraded(cmp.Or(f.reason, reasonStatus), f.Error()) }
