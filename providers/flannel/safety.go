package flannel

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// rule looks at one setting, and returns what is unsafe about its change, or nil.
type rule func(prev, next *operatorv1.FlannelConfig) *field.Error

// rules are all settings that may not change while the network is in use. What is not here may: the endpoints, the
// authorities and the client certificate of an external etcd, since agents start again with them one after another,
// and nothing that pods use stops in between.
var rules = [...]rule{
	backendChange, mtuChange, vniChange, vxlanPortChange, interfaceChange,
	etcdKindChange, prefixChange, clientPortChange, peerPortChange, dataDirChange,
}

// CheckChange returns every change of a setting that is unsafe.
func (Flannel) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	var errs field.ErrorList
	before, after := settings(prev), settings(next)
	if migration(next) != nil {
		// The MTU is then the migration's business, which the pipeline checks.
		before = before.DeepCopy()
		before.MTU = after.MTU
	}
	for _, r := range rules {
		if err := r(before, after); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func backendChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixed(configPath.Child("backend"), prev.Backend, next.Backend, "flannel-backend-change",
		"cannot change the flannel backend: nodes with different backends do not reach one another, so that pods would be cut off while it goes round")
}

func mtuChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixedValue(configPath.Child("mtu"), prev.MTU, next.MTU, "flannel-mtu-change",
		"cannot change flannel MTU without migration (spec.migration.mtu): running pods keep the MTU they started with, and connections between old and new ones would stall")
}

func vniChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixedValue(configPath.Child("vxlan", "vni"), orZero(prev.VXLAN).VNI, orZero(next.VXLAN).VNI, "flannel-vxlan-vni-change",
		"cannot change the VXLAN network identifier: nodes with different ones do not reach one another")
}

func vxlanPortChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixedValue(configPath.Child("vxlan", "port"), orZero(prev.VXLAN).Port, orZero(next.VXLAN).Port, "flannel-vxlan-port-change",
		"cannot change the VXLAN port: nodes with different ones do not reach one another")
}

func interfaceChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	if prev.Interface == next.Interface {
		return nil // that of the default route is a choice too, hence not fixed, which ignores zeros
	}
	return refuse(configPath.Child("interface"), next.Interface, "flannel-interface-change",
		"cannot change the interface of pod traffic: nodes that use different links do not reach one another while it goes round")
}

func etcdKindChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	before, after := orZero(prev.Etcd), orZero(next.Etcd)
	if (before.External == nil) == (after.External == nil) {
		return nil
	}
	kind, change := "external", "from a managed to an external etcd"
	if before.External != nil {
		kind, change = "managed", "from an external to a managed etcd"
	}
	return refuse(configPath.Child("etcd", kind), field.OmitValueType{}, "flannel-etcd-change",
		fmt.Sprintf("cannot change %s: the subnets that nodes hold are written in the one that is in use, and nodes would get others", change))
}

func prefixChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixed(configPath.Child("etcd", "prefix"), orZero(prev.Etcd).Prefix, orZero(next.Etcd).Prefix, "flannel-etcd-prefix-change",
		"cannot change the etcd prefix: the subnets that nodes hold are kept under the old one")
}

func clientPortChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixedValue(configPath.Child("etcd", "managed", "clientPort"), managed(prev).ClientPort, managed(next).ClientPort, "flannel-etcd-client-port-change",
		"cannot change the client port of the managed etcd: agents and members would not find one another during the rollout")
}

func peerPortChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixedValue(configPath.Child("etcd", "managed", "peerPort"), managed(prev).PeerPort, managed(next).PeerPort, "flannel-etcd-peer-port-change",
		"cannot change the peer port of the managed etcd: it is written in the members' own data")
}

func dataDirChange(prev, next *operatorv1.FlannelConfig) *field.Error {
	return fixed(configPath.Child("etcd", "managed", "dataDir"), managed(prev).DataDir, managed(next).DataDir, "flannel-etcd-data-dir-change",
		"cannot change the directory of the managed etcd: members would start without their data")
}

func managed(c *operatorv1.FlannelConfig) *operatorv1.FlannelManagedEtcd {
	return orZero(orZero(c.Etcd).Managed)
}

// fixed refuses any change of a value. A zero on either side is another setting's business (the backend's, the
// kind of etcd), or one that was not recorded.
func fixed[T comparable](at *field.Path, prev, next T, origin, why string) *field.Error {
	var zero T
	if prev == next || prev == zero || next == zero {
		return nil
	}
	return refuse(at, next, origin, why)
}

func fixedValue[T comparable](at *field.Path, prev, next *T, origin, why string) *field.Error {
	if prev == nil || next == nil {
		return nil
	}
	return fixed(at, *prev, *next, origin, why)
}

// wayOut ends the refusal of a change that no one can acknowledge. The pipeline reports acknowledging.
const wayOut = ", or force the change as docs/providers/flannel.md describes"

func refuse(at *field.Path, value any, origin, why string) *field.Error {
	why += "; put the old value back"
	if !acknowledgeable(at) {
		why += wayOut
	}
	if _, omit := value.(field.OmitValueType); omit {
		return field.Forbidden(at, why).WithOrigin(origin)
	}
	return field.Invalid(at, value, why).WithOrigin(origin)
}

// acknowledgeable reports whether the change of a field can be acknowledged.
func acknowledgeable(at *field.Path) bool {
	return slices.ContainsFunc(Flannel{}.Fields(), func(f provider.Field) bool {
		return f.Acknowledge && (at.String() == f.Path || strings.HasPrefix(at.String(), f.Path+"."))
	})
}
