// Package fakeprovider has a network for tests of what calls networks. It uses the fields of Flannel, so that real objects of the API configure it.
package fakeprovider

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Network is a network with two settings, which may not change while it is in use: the backend, by default host-gw, and the MTU, by default that of the
// nodes, detected once, or 1500 if that is unknown. The zero value of each field is usable; a network of another type than Flannel has no settings.
type Network struct {
	// With are the traits of the network.
	With provider.Traits
	// Table is what Fields returns.
	Table []provider.Field
	// Objects returns the rendered objects; nil means none.
	Objects func(spec *operatorv1.NetworkSpec, f facts.Cluster) ([]manifest.Object, error)
	// Unobservable is the error of Observe.
	Unobservable error
	// Panics is the name of the method that panics; empty for none.
	Panics string
}

// Traits returns n.With.
func (n Network) Traits() provider.Traits { return n.With }

// Fields returns n.Table.
func (n Network) Fields() []provider.Field { return n.Table }

// Validate refuses an MTU below 576, and the interface "wrong".
func (n Network) Validate(spec *operatorv1.NetworkSpec) field.ErrorList {
	n.called("Validate")
	c := spec.DefaultNetwork.FlannelConfig
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	if c.MTU != nil && *c.MTU < 576 {
		errs = append(errs, rules.FlannelMTU.Invalid(settings.Child("mtu"), *c.MTU))
	}
	if c.Interface == "wrong" {
		errs = append(errs, field.Invalid(settings.Child("interface"), c.Interface, "is wrong; leave it out"))
	}
	return errs
}

// Default sets the backend and the MTU.
func (n Network) Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec {
	n.called("Default")
	out := spec.DeepCopy()
	if !n.configured() {
		return out
	}
	c := out.DefaultNetwork.FlannelConfig
	if c == nil {
		c = &operatorv1.FlannelConfig{}
		out.DefaultNetwork.FlannelConfig = c
	}
	if c.Backend == "" {
		c.Backend = operatorv1.FlannelBackendHostGW
	}
	if c.MTU == nil && prev != nil && prev.DefaultNetwork.FlannelConfig != nil {
		c.MTU = prev.DefaultNetwork.FlannelConfig.MTU
	}
	if c.MTU == nil {
		c.MTU = new(uint32(cmp.Or(f.HostMTU, unknownMTU)))
	}
	return out
}

// CheckChange refuses a change of the backend and of the MTU.
func (n Network) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	n.called("CheckChange")
	if !n.configured() {
		return nil
	}
	var errs field.ErrorList
	before, after := prev.DefaultNetwork.FlannelConfig, next.DefaultNetwork.FlannelConfig
	if before.Backend != after.Backend {
		errs = append(errs, field.Invalid(settings.Child("backend"), after.Backend, "cannot be changed"))
	}
	if *before.MTU != *after.MTU {
		errs = append(errs, field.Forbidden(settings.Child("mtu"), "cannot change the MTU"))
	}
	return errs
}

// Observe returns a Renderer that renders the Objects, and n.Unobservable.
func (n Network) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	n.called("Observe")
	return renderer{n}, n.Unobservable
}

type renderer struct{ network Network }

// Render returns the Objects, and the MTU of pods: that of the specification, or 1450 for a network without settings.
func (r renderer) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	r.network.called("Render")
	out := provider.Output{MTU: 1450}
	if r.network.configured() {
		out.MTU = int(*spec.DefaultNetwork.FlannelConfig.MTU)
	}
	var err error
	if r.network.Objects != nil {
		out.Objects, err = r.network.Objects(spec, f)
	}
	return out, err
}

// configured reports whether the network has settings.
func (n Network) configured() bool { return n.With.Type == operatorv1.NetworkTypeFlannel }

func (n Network) called(method string) {
	if n.Panics == method {
		panic("boom in " + method)
	}
}

// unknownMTU is the MTU where that of the nodes is unknown, in bytes.
const unknownMTU = 1500

var settings = field.NewPath("spec", "defaultNetwork", "flannelConfig")
