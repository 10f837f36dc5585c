package proxyconfig

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/noproxy"
	"github.com/cluster-network-operator/cno/internal/status"
)

// assessment is the result of checking the input, before probes.
type assessment struct {
	trust
	// invalid are the errors of the specification.
	invalid field.ErrorList
	// noProxy is the merged list; missing are the problems that prevent merging.
	noProxy string
	missing []noproxy.Problem
	// probeRound are the endpoints to probe; nil means none.
	probeRound *probeRound
}

// assess checks the input.
func assess(w *input) assessment {
	spec := &w.proxy.Spec
	v := assessment{trust: decideTrust(w), invalid: noproxy.Validate(spec)}
	if !noproxy.IsSet(spec) {
		return v
	}
	v.noProxy, v.missing = mergeNoProxy(w)
	if len(v.invalid) == 0 && len(v.errs) == 0 && len(spec.ReadinessEndpoints) > 0 {
		v.probeRound = newProbeRound(spec, v.merged.PEM)
	}
	return v
}

func mergeNoProxy(w *input) (string, []noproxy.Problem) {
	c := noproxy.Cluster{HostedControlPlane: w.HostedControlPlane, ProxyInternalAPIServer: w.ProxyInternalAPIServer}
	if w.network != nil {
		c.Network = &w.network.Status
	}
	if w.infra != nil {
		c.Infrastructure = &w.infra.Status
	}
	var problem string
	if c.MachineNetworks, problem = machineNetworks(w.install); problem != "" {
		return "", []noproxy.Problem{{Source: noproxy.InstallConfig, Message: fmt.Sprintf("ConfigMap %s/%s: %s", installNamespace, installName, problem)}}
	}
	return noproxy.Merge(w.proxy.Spec.NoProxy, c)
}

// machineNetworks returns the machine networks in the ConfigMap of OpenShift's installer, or the problem that prevents reading them. A
// missing ConfigMap is allowed, since the cluster may have another installer. A ConfigMap without install-config is a problem: nodes would
// connect to each other through the proxy.
func machineNetworks(cm *corev1.ConfigMap) (cidrs []string, problem string) {
	if cm == nil {
		return nil, ""
	}
	document := cm.Data[installKey]
	if strings.TrimSpace(document) == "" {
		return nil, fmt.Sprintf("it has no key %s, which contains the machine networks (its keys: %s); restore the key, or delete the ConfigMap and list these networks in spec.noProxy of the Proxy", installKey, keys(cm))
	}
	cidrs, err := noproxy.MachineNetworks([]byte(document))
	if err != nil {
		return nil, err.Error()
	}
	return cidrs, ""
}

// newProbeRound returns the endpoints with the proxy for each.
func newProbeRound(spec *configv1.ProxySpec, roots string) *probeRound {
	r := &probeRound{roots: roots}
	for i, endpoint := range spec.ReadinessEndpoints {
		proxy := spec.HTTPProxy
		if u, err := url.Parse(endpoint); err == nil && u.Scheme == "https" && spec.HTTPSProxy != "" {
			proxy = spec.HTTPSProxy
		}
		r.endpoints = append(r.endpoints, endpointOf{at: field.NewPath("spec", "readinessEndpoints").Index(i), url: endpoint, proxy: proxy})
	}
	return r
}

// decision is the result of a reconcile.
type decision struct {
	// bundle is the trust bundle to write; nil means no change.
	bundle *string
	// status is the status of the Proxy to write; nil means no change.
	status   *configv1.ProxyStatus
	findings []status.Finding
	// notes are recorded as events on the Proxy.
	notes []note
	// requeueAfter is the time until the next reconcile.
	requeueAfter time.Duration
}

// decide returns the decision. done is false while there are no probe results yet.
func decide(w *input, v assessment, results []probeResult, done bool) decision {
	d := decision{requeueAfter: systemInterval, bundle: decideBundle(w, v)}
	if !v.merged.Next.IsZero() {
		d.requeueAfter = min(d.requeueAfter, max(time.Second, v.merged.Next.Sub(w.now)+time.Second))
	}
	failed := failures(results)
	if len(failed) > 0 {
		d.requeueAfter = min(d.requeueAfter, probeInterval)
	}
	d.findings, d.notes = explain(w, v, failed)
	refused := len(v.invalid) > 0 || len(v.errs) > 0 || len(v.missing) > 0 || len(failed) > 0 || v.tooLarge != ""
	if refused || v.probeRound != nil && !done {
		return d
	}
	d.status = &configv1.ProxyStatus{}
	if spec := w.proxy.Spec; noproxy.IsSet(&spec) {
		d.status = &configv1.ProxyStatus{HTTPProxy: spec.HTTPProxy, HTTPSProxy: spec.HTTPSProxy, NoProxy: v.noProxy}
	}
	return d
}

// decideBundle returns the bundle to write; nil means no change. An existing bundle is not replaced while the configuration is invalid;
// without one, the system's CAs are written.
func decideBundle(w *input, v assessment) *string {
	switch {
	case v.merged.Count == 0, v.tooLarge != "":
		return nil
	case len(v.errs) > 0 && w.bundle != nil:
		return nil
	}
	return &v.merged.PEM
}

func failures(results []probeResult) (failed []probeResult) {
	for _, a := range results {
		if a.problem != "" {
			failed = append(failed, a)
		}
	}
	return failed
}

// keys returns the keys of a ConfigMap for a message.
func keys(cm *corev1.ConfigMap) string {
	all := append(slices.Collect(maps.Keys(cm.Data)), slices.Collect(maps.Keys(cm.BinaryData))...)
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
