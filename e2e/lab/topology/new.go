package topology

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

const (
	// firstHost is the first host number of nodes. The lower ones are for the gateway
	// and for outside hosts of tests.
	firstHost = 11
	lastHost  = 254
	// maxControlPlanes is the maximum size of a cluster that etcd recommends.
	maxControlPlanes = 7
	// nameServerHost is the host number of the cluster's name server in the Service
	// CIDR, by convention of all installers.
	nameServerHost = 10
	minServiceBits = 4
	// minMTU is the minimum for IPv6, maxMTU the maximum of a veth device.
	minMTU = 1280
	maxMTU = 65535
)

// Options are the parameters of New. The zero value is invalid: a lab has at least
// one control-plane node.
type Options struct {
	ControlPlanes int
	Workers       int
	Family        Family
	// ServiceNetwork is the Service CIDR, one prefix per family; empty means the
	// lab's default.
	ServiceNetwork []netip.Prefix
	// Links is the number of networks in addition to the underlay, DHCP the numbers of those whose outside host is
	// a DHCP server.
	Links int
	DHCP  []int
	// MTU is that of the underlay and of all links, in bytes; 0 means the kernel's default.
	MTU int
	// Kubernetes is the version of the programs on nodes; empty means the default version.
	Kubernetes string
	KubeProxy  bool
	OpenShift  bool
}

// New returns the topology of a lab. Its error names every invalid option.
func New(o Options) (Topology, error) {
	service := o.ServiceNetwork
	if len(service) == 0 {
		service = o.Family.defaultServiceNetwork()
	}
	if err := errors.Join(checkCounts(o), checkServices(o, service), checkLinks(o), checkMTU(o.MTU)); err != nil {
		return Topology{}, err
	}
	t := Topology{Family: o.Family, ServiceNetwork: service, Links: links(o), MTU: o.MTU, Kubernetes: o.Kubernetes, KubeProxy: o.KubeProxy, OpenShift: o.OpenShift}
	for range o.ControlPlanes {
		t = t.add(ControlPlane)
	}
	for range o.Workers {
		t = t.add(Worker)
	}
	return t, nil
}

func checkCounts(o Options) error {
	var errs []error
	if o.ControlPlanes < 1 || o.ControlPlanes > maxControlPlanes {
		errs = append(errs, fmt.Errorf("%d control-plane nodes: a lab has 1 to %d", o.ControlPlanes, maxControlPlanes))
	}
	if most := lastHost - firstHost + 1 - o.ControlPlanes; o.Workers < 0 || o.Workers > most {
		errs = append(errs, fmt.Errorf("%d workers: this lab has addresses for 0 to %d", o.Workers, most))
	}
	return errors.Join(errs...)
}

func checkMTU(mtu int) error {
	if mtu != 0 && (mtu < minMTU || mtu > maxMTU) {
		return fmt.Errorf("an MTU of %d bytes between nodes: it must be %d to %d", mtu, minMTU, maxMTU)
	}
	return nil
}

func checkServices(o Options, service []netip.Prefix) error {
	var errs []error
	f, underlay := o.Family, o.Family.Underlay()
	if len(service) != len(underlay) {
		errs = append(errs, fmt.Errorf("service network %v: a lab of IP family %q takes %d", service, f, len(underlay)))
	}
	for i, p := range service {
		if p != p.Masked() {
			errs = append(errs, fmt.Errorf("service network %s has host bits set, write %s", p, p.Masked()))
		}
		if p.Addr().BitLen()-p.Bits() < minServiceBits {
			errs = append(errs, fmt.Errorf("service network %s is too small: it must contain the name server, number %d", p, nameServerHost))
		}
		if i < len(underlay) && p.Addr().Is4() != underlay[i].Addr().Is4() {
			errs = append(errs, fmt.Errorf("service network %s is not of the family that a lab of IP family %q has in that place", p, f))
		}
		for _, u := range underlay {
			if u.Overlaps(p) {
				errs = append(errs, fmt.Errorf("service network %s overlaps the nodes' own network %s", p, u))
			}
		}
		for _, l := range links(o) {
			for _, n := range l.Networks() {
				if n.Overlaps(p) {
					errs = append(errs, fmt.Errorf("service network %s overlaps the network %s of link %d", p, n, l.Number))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// AddWorker returns the topology with one more worker, and that worker. The
// name and an address of a removed node are reused.
func (t Topology) AddWorker() (Topology, Node, error) {
	if len(t.Nodes) > lastHost-firstHost {
		return t, Node{}, fmt.Errorf("all %d addresses of the underlay are taken", len(t.Nodes))
	}
	next := t.add(Worker)
	return next, next.Nodes[len(next.Nodes)-1], nil
}

// RemoveWorker returns the topology without the named worker.
func (t Topology) RemoveWorker(name string) (Topology, error) {
	n, err := t.Node(name)
	if err != nil {
		return t, err
	}
	if n.Role != Worker {
		return t, fmt.Errorf("%s is a control-plane node: only workers can be removed", name)
	}
	t.Nodes = slices.DeleteFunc(slices.Clone(t.Nodes), func(n Node) bool { return n.Name == name })
	return t, nil
}

func (t Topology) add(r Role) Topology {
	n := Node{Name: t.freeName(r), Role: r, Addresses: t.freeAddresses()}
	t.Nodes = append(slices.Clone(t.Nodes), n)
	return t
}

func (t Topology) freeName(r Role) string {
	prefix := map[Role]string{ControlPlane: "cp", Worker: "worker"}[r]
	for i := 0; ; i++ {
		if name := fmt.Sprintf("%s-%d", prefix, i); !slices.Contains(t.Names(), name) {
			return name
		}
	}
}

func (t Topology) freeAddresses() []netip.Addr {
	for i := firstHost; ; i++ {
		addrs := t.Family.addresses(i)
		taken := func(n Node) bool { return n.Primary() == addrs[0] }
		if !slices.ContainsFunc(t.Nodes, taken) {
			return addrs
		}
	}
}

// APIService lists the addresses of the service "kubernetes": the first ones
// of the service network.
func (t Topology) APIService() []netip.Addr { return t.service(1) }

// NameServer lists the addresses of the cluster's name server.
func (t Topology) NameServer() []netip.Addr { return t.service(nameServerHost) }

func (t Topology) service(n int) []netip.Addr {
	var addrs []netip.Addr
	for _, p := range t.ServiceNetwork {
		addrs = append(addrs, numbered(p, n))
	}
	return addrs
}
