package hostdocument

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// routesOf returns the static routes: those on interfaces of the document, and those without a next hop.
func routesOf(s livestate.State, doc *nmstate.Document) []nmstate.Route {
	var all []nmstate.Route
	for _, r := range s.Routes {
		if r.Protocol != "static" && r.Protocol != "boot" && r.Protocol != strconv.Itoa(4) {
			continue
		}
		if r.Type == "" && !named(doc, r.Interface) {
			continue
		}
		out := nmstate.Route{Destination: r.Destination.String(), NextHopInterface: r.Interface, RouteType: nmstate.Special(r.Type)}
		if r.Type != "" {
			out.NextHopInterface = "" // the kernel reports lo
		}
		if r.Via.IsValid() {
			out.NextHopAddress = r.Via.String()
		}
		if r.Metric > 0 {
			metric := int64(r.Metric)
			out.Metric = &metric
		}
		if r.Table != 0 && r.Table != 254 {
			table := uint32(r.Table)
			out.TableID = &table
		}
		if r.Source != (netip.Addr{}) {
			out.Source = r.Source.String()
		}
		all = append(all, out)
	}
	return all
}

func named(doc *nmstate.Document, name string) bool {
	return slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == name })
}

// rulesOf returns the rules that refer to tables of the document's routes, or to its interfaces. Other rules belong to the kernel or the pod network.
func rulesOf(s livestate.State, doc *nmstate.Document) []nmstate.RouteRule {
	tables := map[int]bool{}
	for _, r := range doc.Routes.GetConfig() {
		if r.TableID != nil {
			tables[int(*r.TableID)] = true
		}
	}
	var all []nmstate.RouteRule
	for _, r := range s.Rules {
		if tables[r.Table] || r.Interface != "" && named(doc, r.Interface) {
			all = append(all, r.Desired())
		}
	}
	return all
}
