package agentconfig

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Validate returns every error in the configuration; nil if there is none.
func (c Config) Validate() field.ErrorList {
	errs := agentfile.ValidateVersion(field.NewPath("version"), c.Version, Version)
	errs = append(errs, c.Etcd.validate(field.NewPath("etcd"))...)
	errs = append(errs, c.Network.validate(field.NewPath("network"))...)
	errs = append(errs, c.Backend.validate(field.NewPath("backend"))...)
	if c.Interface != "" {
		errs = append(errs, agentfile.ValidateInterface(field.NewPath("interface"), c.Interface)...)
	}
	if c.MTU != 0 && (c.MTU < 576 || c.MTU > 65535) {
		errs = append(errs, field.Invalid(field.NewPath("mtu"), c.MTU, "must be 576 to 65535 bytes, or 0 for what the backend offers"))
	}
	errs = append(errs, c.Migration.Validate(field.NewPath("migration"), c.MTU)...)
	if c.Migration != nil && c.Migration.PodNamespaces == "" {
		errs = append(errs, field.Required(field.NewPath("migration", "podNamespaces"), "name the directory of the pods' network namespaces, for example /run/netns"))
	}
	errs = append(errs, c.CNI.validate(field.NewPath("cni"))...)
	errs = append(errs, agentfile.ValidatePath(field.NewPath("subnetFile"), c.SubnetFile)...)
	errs = append(errs, agentfile.ValidatePath(field.NewPath("stateDir"), c.StateDir)...)
	errs = append(errs, agentfile.ValidatePath(field.NewPath("procSys"), c.ProcSys)...)
	return append(errs, agentfile.ValidateListen(field.NewPath("healthAddress"), c.HealthAddress)...)
}

func (e Etcd) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(e.Endpoints) == 0 {
		errs = append(errs, field.Required(at.Child("endpoints"), "name at least one URL, for example https://192.0.2.10:2379"))
	}
	for i, s := range e.Endpoints {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" {
			errs = append(errs, field.Invalid(at.Child("endpoints").Index(i), s, "must be a URL such as https://192.0.2.10:2379, without a path"))
		}
	}
	if !strings.HasPrefix(e.Prefix, "/") || e.Prefix == "/" || path.Clean(e.Prefix) != e.Prefix {
		errs = append(errs, field.Invalid(at.Child("prefix"), e.Prefix, "must begin with a slash, must not end with one, and must not have empty parts; for example /coreos.com/network"))
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		errs = append(errs, field.Invalid(at.Child("certFile"), e.CertFile, "certFile and keyFile must be set together"))
	}
	if e.OwnCertificate && e.CAFile == "" {
		errs = append(errs, field.Required(at.Child("caFile"), "a node with its own certificate needs the CA that issues it"))
	}
	for _, f := range []struct{ name, file string }{{"caFile", e.CAFile}, {"certFile", e.CertFile}, {"keyFile", e.KeyFile}} {
		if f.file != "" {
			errs = append(errs, agentfile.ValidatePath(at.Child(f.name), f.file)...)
		}
	}
	return errs
}

func (n Network) validate(at *field.Path) field.ErrorList {
	if !n.IPv4.IsValid() {
		return field.ErrorList{field.Required(at.Child("ipv4"), "flannel keeps its subnets under IPv4 keys, so that it needs an IPv4 network, for example 10.128.0.0/14")}
	}
	errs := validatePool(at, "ipv4", n.IPv4, n.IPv4SubnetLen, netip.Addr.Is4)
	if n.DualStack() {
		return append(errs, validatePool(at, "ipv6", n.IPv6, n.IPv6SubnetLen, is6)...)
	}
	if n.IPv6SubnetLen != 0 {
		errs = append(errs, field.Invalid(at.Child("ipv6SubnetLen"), n.IPv6SubnetLen, "must be 0 without ipv6"))
	}
	return errs
}

func is6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() && a.Zone() == "" }

// validatePool checks flannel's limits: at least four subnets, of which the first is never assigned, and at least two host bits.
func validatePool(at *field.Path, name string, p netip.Prefix, length int, family func(netip.Addr) bool) field.ErrorList {
	if !family(p.Addr()) {
		return field.ErrorList{field.Invalid(at.Child(name), p.String(), "is not of the family "+name)}
	}
	var errs field.ErrorList
	if p != p.Masked() {
		errs = append(errs, field.Invalid(at.Child(name), p.String(), fmt.Sprintf("has bits beyond its prefix length; write %s", p.Masked())))
	}
	low, high := p.Bits()+2, p.Addr().BitLen()-2
	if length < low || length > high {
		errs = append(errs, field.Invalid(at.Child(name+"SubnetLen"), length,
			fmt.Sprintf("must be %d to %d, so that %s holds at least four subnets with two host bits each", low, high, p)))
	}
	return errs
}

func (b Backend) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch b.Type {
	case BackendHostGW:
		if b.VNI != 0 {
			errs = append(errs, field.Forbidden(at.Child("vni"), "is only for the type vxlan"))
		}
		if b.Port != 0 {
			errs = append(errs, field.Forbidden(at.Child("port"), "is only for the type vxlan"))
		}
	case BackendVXLAN:
		if b.VNI < 1 || b.VNI > 1<<24-1 {
			errs = append(errs, field.Invalid(at.Child("vni"), b.VNI, "must be 1 to 16777215"))
		}
		if b.Port < 1 || b.Port > 65535 {
			errs = append(errs, field.Invalid(at.Child("port"), b.Port, "must be 1 to 65535; Linux's own is 8472"))
		}
	default:
		errs = append(errs, field.NotSupported(at.Child("type"), b.Type, []string{BackendHostGW, BackendVXLAN}))
	}
	return errs
}

func (c CNI) validate(at *field.Path) field.ErrorList {
	errs := agentfile.ValidatePath(at.Child("confDir"), c.ConfDir)
	if c.BinDir != "" {
		errs = append(errs, agentfile.ValidatePath(at.Child("binDir"), c.BinDir)...)
	}
	errs = append(errs, agentfile.ValidateInterface(at.Child("bridge"), c.Bridge)...)
	switch c.CNIVersion {
	case "0.4.0", "1.0.0", "1.1.0":
		return errs
	}
	return append(errs, field.NotSupported(at.Child("cniVersion"), c.CNIVersion, []string{"0.4.0", "1.0.0", "1.1.0"}))
}
