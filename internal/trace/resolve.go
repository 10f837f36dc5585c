package trace

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// target is the resolved destination of a question.
type target struct {
	pod     *corev1.Pod
	node    *corev1.Node
	service *corev1.Service
	address netip.Addr
	// port is the text after the colon; empty if there is none.
	port string
	// notes are sentences about the resolution.
	notes []string
}

// Lookup returns the addresses of a DNS name.
type Lookup func(ctx context.Context, name string) ([]netip.Addr, error)

// resolve resolves a destination. families are the addresses of the client, in its order.
func (o snapshot) resolve(ctx context.Context, text string, lookup Lookup, families []netip.Addr) (target, error) {
	name, port, err := cutPort(text)
	if err != nil {
		return target{}, err
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return o.at(a.Unmap(), port)
	}
	kind, rest, _ := strings.Cut(name, "/")
	switch {
	case strings.Count(name, "/") == 2 && kind == "pod":
		return o.object(rest, port, true, false)
	case strings.Count(name, "/") == 2 && (kind == "service" || kind == "svc"):
		return o.object(rest, port, false, true)
	case strings.Count(name, "/") == 1:
		return o.object(name, port, true, true)
	case name == "" || strings.Contains(name, "/"):
		return target{}, fmt.Errorf("%w: %q is no destination: write NAMESPACE/POD, NAMESPACE/SERVICE, an address or a DNS name, each with :PORT if need be", ErrQuestion, text)
	}
	return o.named(ctx, name, port, lookup, families)
}

// cutPort splits a destination and its port: an IPv6 address with a port is in brackets.
func cutPort(text string) (name, port string, err error) {
	if rest, bracketed := strings.CutPrefix(text, "["); bracketed {
		name, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && !strings.HasPrefix(after, ":") {
			return "", "", fmt.Errorf("%w: %q is no address: write [ADDRESS]:PORT", ErrQuestion, text)
		}
		return name, strings.TrimPrefix(after, ":"), nil
	}
	if strings.Count(text, ":") > 1 {
		return text, "", nil // an IPv6 address
	}
	name, port, colon := strings.Cut(text, ":")
	if colon && port == "" {
		return "", "", fmt.Errorf("%w: %q ends without a port", ErrQuestion, text)
	}
	return name, port, nil
}

// at returns the destination with an address.
func (o snapshot) at(a netip.Addr, port string) (target, error) {
	t := target{address: a, port: port}
	if t.service = o.serviceWith(a); t.service != nil {
		return t, nil
	}
	if t.pod = o.podWith(a); t.pod == nil {
		t.node = o.node(a)
	}
	return t, nil
}

// object returns the pod or the Service with a name.
func (o snapshot) object(name, port string, pods, services bool) (target, error) {
	t := target{port: port}
	if pods {
		t.pod = o.pod(name)
	}
	if services {
		t.service = o.service(name)
	}
	switch {
	case t.pod != nil && t.service != nil:
		return t, fmt.Errorf("%w: %s is a pod and a Service: write pod/%s or service/%s", ErrQuestion, name, name, name)
	case t.pod == nil && t.service == nil && pods && services:
		return t, fmt.Errorf("there is neither a pod nor a Service %q%s: %w", name, o.near(name), ErrUnknown)
	case t.pod == nil && t.service == nil && pods:
		return t, fmt.Errorf("there is no pod %q%s: %w", name, o.near(name), ErrUnknown)
	case t.pod == nil && t.service == nil:
		return t, fmt.Errorf("there is no Service %q%s: %w", name, o.near(name), ErrUnknown)
	}
	return t, nil
}

// near suggests the name of a similar pod or Service, as a part of a sentence.
func (o snapshot) near(name string) string {
	var known []string
	for i := range o.pods {
		known = append(known, idOf(&o.pods[i]).String())
	}
	for i := range o.services {
		known = append(known, o.services[i].Namespace+"/"+o.services[i].Name)
	}
	if best, ok := suggest.Closest(name, known, 3); ok {
		return fmt.Sprintf(" (did you mean %s?)", best)
	}
	return ""
}

// named resolves a DNS name: a Service by its names in cluster DNS, or an address.
func (o snapshot) named(ctx context.Context, name, port string, lookup Lookup, families []netip.Addr) (target, error) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) >= 2 && (len(parts) == 2 || parts[2] == "svc") {
		if s := o.service(parts[1] + "/" + parts[0]); s != nil {
			return target{service: s, port: port, notes: []string{fmt.Sprintf("%s is the name of Service %s/%s", name, s.Namespace, s.Name)}}, nil
		}
	}
	if len(parts) >= 3 && parts[2] == "svc" {
		return target{}, fmt.Errorf("there is no Service %q%s: %w", parts[1]+"/"+parts[0], o.near(parts[1]+"/"+parts[0]), ErrUnknown)
	}
	if len(parts) == 1 {
		return target{}, fmt.Errorf("%w: %q is no destination: write the namespace of a pod or Service, NAMESPACE/%s", ErrQuestion, name, name)
	}
	if lookup == nil {
		return target{}, fmt.Errorf("%w: DNS names are not resolved here; write an address", ErrQuestion)
	}
	addresses, err := lookup(ctx, name)
	if err != nil {
		return target{}, fmt.Errorf("resolve %s: %w; write an address if only pods can resolve the name", name, err)
	}
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.Unmap().String())
	}
	for _, like := range families {
		for _, a := range addresses {
			if a.Unmap().Is4() != like.Is4() {
				continue
			}
			t, err := o.at(a.Unmap(), port)
			t.notes = append(t.notes, fmt.Sprintf("%s has the addresses %s as this computer resolves it; pods may get others from the DNS of the cluster", name, strings.Join(texts, ", ")))
			return t, err
		}
	}
	return target{}, fmt.Errorf("%s has the addresses %s, and the pod has none of their IP families: %w", name, strings.Join(texts, ", "), ErrUnknown)
}

// number parses a port of a question.
func number(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: %q is not a port: write 1 to 65535, or the name of a Service's port", ErrQuestion, text)
	}
	return uint16(n), nil
}

// portOf returns the port and the protocol of a connection to a destination other than a Service.
func (t target) portOf(q Question) (uint16, corev1.Protocol, error) {
	protocol := cmp.Or(q.Protocol, corev1.ProtocolTCP)
	if q.Port > 0 {
		return q.Port, protocol, nil
	}
	if t.port != "" {
		n, err := number(t.port)
		return n, protocol, err
	}
	var declared []uint16
	if t.pod != nil {
		for _, c := range t.pod.Spec.Containers {
			for _, p := range c.Ports {
				if cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
					declared = append(declared, uint16(p.ContainerPort)) //nolint:gosec // the API allows 1 to 65535
				}
			}
		}
	}
	if len(declared) == 1 {
		return declared[0], protocol, nil
	}
	text := "the destination declares none"
	if len(declared) > 1 {
		text = fmt.Sprintf("the destination declares %v", declared)
	}
	return 0, protocol, fmt.Errorf("%w: which port of %s? write DESTINATION:PORT, or --port; %s", ErrQuestion, protocol, text)
}

// servicePort returns the port of a Service for a question.
func (t target) servicePort(q Question) (corev1.ServicePort, error) {
	want := t.port
	if q.Port > 0 {
		want = strconv.Itoa(int(q.Port))
	}
	var found []corev1.ServicePort
	var offered []string
	for _, p := range t.service.Spec.Ports {
		p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
		text := fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.Name != "" {
			text += " (" + p.Name + ")"
		}
		offered = append(offered, text)
		if (want == "" || want == p.Name || want == strconv.Itoa(int(p.Port))) && (q.Protocol == "" || q.Protocol == p.Protocol) {
			found = append(found, p)
		}
	}
	name := t.service.Namespace + "/" + t.service.Name
	switch {
	case len(found) == 0:
		return corev1.ServicePort{}, fmt.Errorf("service %s has no such port; it has %s: %w", name, strings.Join(offered, ", "), ErrUnknown)
	case len(found) > 1 && !slices.ContainsFunc(found, func(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolTCP && want != "" }):
		return corev1.ServicePort{}, fmt.Errorf("%w: which port of Service %s? write SERVICE:PORT; it has %s", ErrQuestion, name, strings.Join(offered, ", "))
	}
	return found[0], nil
}
