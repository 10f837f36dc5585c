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

// verdict is what can be said of a world by looking at it.
type verdict struct {
	trust
	// invalid are mistakes in the specification.
	invalid field.ErrorList
	// noProxy is the merged list, and missing what it cannot be made for.
	noProxy string
	missing []noproxy.Problem
	// round is what to probe; nil is nothing.
	round *round
}

// judge looks at a world.
func judge(w *world) verdict {
	spec := &w.proxy.Spec
	v := verdict{trust: decideTrust(w), invalid: noproxy.Validate(spec)}
	if !noproxy.IsSet(spec) {
		return v
	}
	v.noProxy, v.missing = mergeNoProxy(w)
	if len(v.invalid) == 0 && len(v.errs) == 0 && len(spec.ReadinessEndpoints) > 0 {
		v.round = newRound(spec, v.merged.PEM)
	}
	return v
}

func mergeNoProxy(w *world) (string, []noproxy.Problem) {
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

// machineNetworks returns the networks of machines that the ConfigMap of OpenShift's installer names, or why they cannot be
// known. No ConfigMap is no problem: the cluster was made by another installer. One without the install-config is: without
// these networks nodes would reach one another through the proxy.
func machineNetworks(cm *corev1.ConfigMap) (cidrs []string, problem string) {
	if cm == nil {
		return nil, ""
	}
	document := cm.Data[installKey]
	if strings.TrimSpace(document) == "" {
		return nil, fmt.Sprintf("it has no key %s, which names the networks of machines (its keys: %s); restore the key, or delete the ConfigMap and list these networks in spec.noProxy of the Proxy", installKey, keys(cm))
	}
	cidrs, err := noproxy.MachineNetworks([]byte(document))
	if err != nil {
		return nil, err.Error()
	}
	return cidrs, ""
}

// newRound lists the endpoints with the proxy that each is asked through.
func newRound(spec *configv1.ProxySpec, roots string) *round {
	r := &round{roots: roots}
	for i, endpoint := range spec.ReadinessEndpoints {
		proxy := spec.HTTPProxy
		if u, err := url.Parse(endpoint); err == nil && u.Scheme == "https" && spec.HTTPSProxy != "" {
			proxy = spec.HTTPSProxy
		}
		r.endpoints = append(r.endpoints, endpointOf{at: field.NewPath("spec", "readinessEndpoints").Index(i), url: endpoint, proxy: proxy})
	}
	return r
}

// decision is what to write and to say.
type decision struct {
	// bundle is what is to be trusted; nil is that it stays as it is.
	bundle *string
	// status is that of the Proxy; nil is that it stays as it is.
	status   *configv1.ProxyStatus
	findings []status.Finding
	// notes are told to who looks at the Proxy.
	notes []note
	// again is after how long to look again.
	again time.Duration
}

// conclude decides. Answers are those of the probes; done is false while there are none yet.
func conclude(w *world, v verdict, answers []answer, done bool) decision {
	d := decision{again: systemInterval, bundle: decideBundle(w, v)}
	if !v.merged.Next.IsZero() {
		d.again = min(d.again, max(time.Second, v.merged.Next.Sub(w.now)+time.Second))
	}
	failed := failures(answers)
	if len(failed) > 0 {
		d.again = min(d.again, probeInterval)
	}
	d.findings, d.notes = explain(w, v, failed)
	refused := len(v.invalid) > 0 || len(v.errs) > 0 || len(v.missing) > 0 || len(failed) > 0 || v.tooLarge != ""
	if refused || v.round != nil && !done {
		return d
	}
	d.status = &configv1.ProxyStatus{}
	if spec := w.proxy.Spec; noproxy.IsSet(&spec) {
		d.status = &configv1.ProxyStatus{HTTPProxy: spec.HTTPProxy, HTTPSProxy: spec.HTTPSProxy, NoProxy: v.noProxy}
	}
	return d
}

// decideBundle returns what is to be trusted. A bundle that is there is not removed for a mistake; if there is none yet,
// the system's is better than nothing.
func decideBundle(w *world, v verdict) *string {
	switch {
	case v.merged.Count == 0, v.tooLarge != "":
		return nil
	case len(v.errs) > 0 && w.bundle != nil:
		return nil
	}
	return &v.merged.PEM
}

func failures(answers []answer) (failed []answer) {
	for _, a := range answers {
		if a.problem != "" {
			failed = append(failed, a)
		}
	}
	return failed
}

// keys lists the keys of a ConfigMap, for someone who has misspelled one.
func keys(cm *corev1.ConfigMap) string {
	all := append(slices.Collect(maps.Keys(cm.Data)), slices.Collect(maps.Keys(cm.BinaryData))...)
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
