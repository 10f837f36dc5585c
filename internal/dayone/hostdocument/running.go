package hostdocument

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Running returns a host's network in the form of NMState's output, for captures: static and dynamic configuration, all routes and MAC addresses, and the
// active DNS servers. It shares only immutable data with the live state.
func Running(live livestate.State) *nmstate.Document {
	doc := FromState(live)
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		link, ok := live.Link(i.Name)
		if !ok || i.Kind() == nmstate.TypeOVSBridge { // it has no device
			continue
		}
		mtu := uint64(max(link.MTU, 0))
		i.MACAddress, i.PermanentMACAddress, i.Driver, i.MTU = strings.ToUpper(link.MAC), strings.ToUpper(link.PermanentMAC), link.Driver, &mtu
		if link.Controller != "" {
			i.Controller = &link.Controller
		}
	}
	if doc.Routes == nil {
		doc.Routes = &nmstate.Routes{}
	}
	for _, r := range live.Routes {
		doc.Routes.Running = append(doc.Routes.Running, route(r))
	}
	if doc.DNS == nil {
		doc.DNS = &nmstate.DNS{}
	}
	doc.DNS.Running = &nmstate.Resolver{Server: live.DNS.Servers, Search: live.DNS.Search, Options: live.DNS.Options}
	return doc
}

func route(r livestate.Route) nmstate.Route {
	metric, table := int64(r.Metric), uint32(max(r.Table, 0))
	out := nmstate.Route{
		Destination: r.Destination.String(), NextHopInterface: r.Interface, Metric: &metric, TableID: &table,
		RouteType: nmstate.Special(r.Type),
	}
	if r.Via.IsValid() {
		out.NextHopAddress = r.Via.String()
	}
	if r.Source.IsValid() {
		out.Source = r.Source.String()
	}
	return out
}
