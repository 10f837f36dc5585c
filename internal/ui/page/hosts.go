package page

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/template"
)

// Hosts are the configurations of hosts, by role.
type Hosts struct {
	Roles []Role `json:"roles"`
	// Draft is the drawing of Source.Draft; nil if there is none.
	Draft *Drawing `json:"draft,omitempty"`
}

// Draft is the text of a file with configuration of hosts that is not in the cluster: a document, a HostNetworkConfig, a MachineConfig, or the input of
// an installer.
type Draft struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Drawing is a Draft with its pictures.
type Drawing struct {
	Draft
	// Problems are all errors and warnings, as cno dayone validate reports them. Errors is true if one of them is not a warning.
	Problems []string `json:"problems"`
	Errors   bool     `json:"errors"`
	// Documents are those of all hosts.
	Documents []Document `json:"documents"`
}

// Role is one HostNetworkConfig.
type Role struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Conditions are those of the object.
	Conditions []Condition `json:"conditions"`
	// Problems are errors in documents, and values that are probably unintended.
	Problems []string `json:"problems,omitempty"`
	// Documents are those of the role, by the name of the file, with a picture each.
	Documents []Document `json:"documents"`
	// Hosts are the states of the hosts.
	Hosts []Host `json:"hosts"`
}

// Host is the state of one host. Message describes the differences of the live host, as host-network reports them.
type Host struct {
	Name    string    `json:"name"`
	Node    string    `json:"node,omitempty"`
	File    string    `json:"file,omitempty"`
	Result  string    `json:"result"`
	Message string    `json:"message,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Differences are those in Message.
	Differences []livestate.Difference `json:"differences,omitempty"`
}

// Document is the network of a host.
type Document struct {
	File       string      `json:"file"`
	Interfaces []Interface `json:"interfaces"`
	Links      []Link      `json:"links"`
	Routes     []Route     `json:"routes"`
	DNS        []string    `json:"dns,omitempty"`
	Text       string      `json:"text"`
}

// Interface is a card, bond, VLAN, bridge, or any other interface.
type Interface struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	State     string   `json:"state"`
	MTU       uint64   `json:"mtu,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Details are properties of the type, such as the mode of a bond.
	Details []string `json:"details,omitempty"`
}

// Link connects an interface to one that is based on it: a port to its bond or bridge, a base interface to its VLAN.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Route is a route of the document.
type Route struct {
	Destination string `json:"destination"`
	Via         string `json:"via,omitempty"`
	Interface   string `json:"interface,omitempty"`
}

// Hosts returns the page.
func (s Source) Hosts(ctx context.Context) (Hosts, error) {
	page := Hosts{Roles: []Role{}}
	if s.Draft != nil {
		drawing := Draw(*s.Draft)
		page.Draft = &drawing
	}
	var list networkv1.HostNetworkConfigList
	if err := s.list(ctx, &list); err != nil {
		return page, fmt.Errorf("list HostNetworkConfigs: %w", err)
	}
	for i := range list.Items {
		page.Roles = append(page.Roles, roleOf(&list.Items[i]))
	}
	slices.SortFunc(page.Roles, func(a, b Role) int { return cmp.Compare(a.Name, b.Name) })
	return page, nil
}

func roleOf(o *networkv1.HostNetworkConfig) Role {
	r := Role{Name: o.Name, Role: o.Spec.Role, Conditions: []Condition{}, Documents: []Document{}, Hosts: []Host{}}
	for _, c := range o.Status.Conditions {
		r.Conditions = append(r.Conditions, Condition{c.Type, string(c.Status), c.LastTransitionTime.UTC(), c.Message})
	}
	for _, h := range o.Status.Hosts {
		r.Hosts = append(r.Hosts, Host{h.Name, h.Node, h.File, string(h.Result), h.Message, timeOf(h.Time), livestate.ParseDifferences(h.Message)})
	}
	rendered, problems := template.Render(&o.Spec)
	for _, p := range problems {
		r.Problems = append(r.Problems, p.Error())
	}
	r.Problems = append(r.Problems, rendered.Warnings...)
	for _, f := range rendered.Files {
		if !isDocument(f) {
			continue
		}
		if doc, problems := documentOf(f.Name, f.Content); doc != nil {
			r.Documents = append(r.Documents, *doc)
		} else {
			r.Problems = append(r.Problems, problems.Err().Error())
		}
	}
	for _, h := range rendered.PreBoot {
		if doc, _ := documentOf(preBootName(h.Host), h.Content); doc != nil {
			r.Documents = append(r.Documents, *doc)
		}
	}
	return r
}

// isDocument reports whether a file is a document, and not the index of addresses.
func isDocument(f placement.File) bool {
	return path.Ext(f.Name) == placement.Extension || path.Ext(f.Name) == ".yaml"
}

func preBootName(host string) string { return host + " (before installation)" }

// Draw renders and validates a draft like cno dayone.
func Draw(draft Draft) Drawing {
	d := Drawing{Draft: draft, Problems: []string{}, Documents: []Document{}}
	found, err := (&roles.Reader{Stdin: strings.NewReader(draft.Text), StdinName: draft.Name}).Read([]string{"-"})
	if err != nil {
		d.Problems, d.Errors = append(d.Problems, err.Error()), true
		return d
	}
	problems := roles.Validate(found, found.Surroundings())
	d.Errors = problems.HasErrors()
	for _, p := range problems.Sorted() {
		d.Problems = append(d.Problems, p.String())
	}
	for _, role := range found.Roles {
		for _, f := range role.Files {
			if isDocument(f) {
				d.add(f.Name, f.Content)
			}
		}
	}
	for _, h := range found.PreBoot {
		d.add(preBootName(h.Name), h.Document)
	}
	return d
}

func (d *Drawing) add(file string, content []byte) {
	doc, _ := documentOf(file, content)
	switch {
	case doc != nil:
		d.Documents = append(d.Documents, *doc)
	case !d.Errors: // documents with errors are among the problems
		d.Problems = append(d.Problems, file+" is not drawn: only the host itself can resolve its captures")
	}
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// documentOf reads a document for its picture; nil if it has errors.
func documentOf(file string, content []byte) (*Document, nmstate.Problems) {
	doc, problems := nmstate.Parse(file, content)
	if doc == nil {
		return nil, problems
	}
	d := &Document{File: doc.Name, Interfaces: []Interface{}, Links: []Link{}, Routes: []Route{}, Text: string(content)}
	for i := range doc.Interfaces {
		existing := &doc.Interfaces[i]
		d.Interfaces = append(d.Interfaces, interfaceOf(existing))
		if parent := existing.Parent(); parent != "" {
			d.Links = append(d.Links, Link{parent, existing.Name})
		}
		for _, member := range existing.Members() {
			d.Links = append(d.Links, Link{member, existing.Name})
		}
		if existing.Controller != nil && *existing.Controller != "" {
			d.Links = append(d.Links, Link{existing.Name, *existing.Controller})
		}
	}
	slices.SortFunc(d.Links, func(a, b Link) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	d.Links = slices.DeleteFunc(slices.Compact(d.Links), func(l Link) bool { return l.From == l.To })
	for _, r := range doc.Routes.GetConfig() {
		if !r.Absent() {
			d.Routes = append(d.Routes, Route{r.Destination, r.NextHopAddress, r.NextHopInterface})
		}
	}
	if doc.DNS != nil && doc.DNS.Config != nil {
		d.DNS = doc.DNS.Config.Server
	}
	return d, problems
}

func interfaceOf(existing *nmstate.Interface) Interface {
	i := Interface{Name: existing.Name, Type: string(existing.Kind()), State: cmp.Or(string(existing.State), "up")}
	if existing.MTU != nil {
		i.MTU = *existing.MTU
	}
	for _, a := range existing.Static() {
		i.Addresses = append(i.Addresses, a.Prefix().String())
	}
	if existing.IPv4 != nil && nmstate.Is(existing.IPv4.DHCP) {
		i.Addresses = append(i.Addresses, "DHCP")
	}
	if existing.IPv6 != nil && (nmstate.Is(existing.IPv6.DHCP) || nmstate.Is(existing.IPv6.Autoconf)) {
		i.Addresses = append(i.Addresses, "IPv6 automatic")
	}
	switch {
	case existing.Bond != nil && existing.Bond.Mode != "":
		i.Details = append(i.Details, "mode "+existing.Bond.Mode)
	case existing.VLAN != nil:
		i.Details = append(i.Details, fmt.Sprintf("VLAN %d", existing.VLAN.ID))
	case existing.VXLAN != nil:
		i.Details = append(i.Details, fmt.Sprintf("VXLAN %d", existing.VXLAN.ID))
	}
	if existing.MACAddress != "" {
		i.Details = append(i.Details, "MAC "+strings.ToLower(existing.MACAddress))
	}
	return i
}
