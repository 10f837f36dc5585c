package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/nflog"
	"github.com/cluster-network-operator/cno/internal/idling"
)

const (
	topicIdling agent.Topic = "idling"
	// idleTable is the nftables table that holds back packets to idled Services.
	idleTable = "openshift-sdn-idle"
	// heldAddresses and heldNodePorts are the sets of ports of idled Services. reportedPorts is the set of ports with recently reported packets. heldCounter
	// counts the packets held back.
	heldAddresses, heldNodePorts, reportedPorts, heldCounter = "addresses", "nodeports", "asking", "held"
	// logGroup is the NFLOG group of reported packets.
	logGroup = 19111
	// reportInterval is how long the kernel suppresses further reports for a port.
	reportInterval = 10 * time.Second
	// eventTimeout is the timeout of creating an Event.
	eventTimeout = 10 * time.Second
	// beforeRejection is a priority before kube-proxy's chains that reject packets to Services without endpoints.
	beforeRejection knftables.BaseChainPriority = "-10"
)

// unidler holds back packets to idled Services, which have no endpoints, and requests their pods with Events. Clients retransmit the packets.
type unidler struct {
	node    string
	client  kubernetes.Interface
	log     *slog.Logger
	note    func(error)
	objects *objects
	table   managedTable
	// repaired is called with the title of the table after a change by a third party was undone.
	repaired func(string)
	changed  agent.Trigger
	// held counts the packets held back. ports is the number of idled Service ports.
	held, ports atomic.Int64

	mu     sync.Mutex
	holder idling.Holder
}

func newUnidler(client kubernetes.Interface, node string, log *slog.Logger, note func(error), repaired func(string)) *unidler {
	u := &unidler{node: node, client: client, log: log, note: note, changed: agent.NewTrigger(), repaired: repaired}
	u.objects = emptyObjects(u.changed.Fire)
	u.objects.services = u.objects.watch(client.CoreV1().RESTClient(), "services", &corev1.Service{}, fields.Everything())
	u.objects.endpoints = u.objects.watch(client.DiscoveryV1().RESTClient(), "endpointslices", &discoveryv1.EndpointSlice{}, fields.Everything())
	return u
}

// run works until the context ends. The rules stay; clients retransmit the packets that are held back in the meantime.
func (u *unidler) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { u.objects.run(ctx) })
	all.Go(func() { u.listen(ctx) })
	var beat agent.Beat
	agent.Loop{Apply: u.apply, Interval: resyncInterval, Debounce: debounce, Changed: u.changed, Now: time.Now, Beat: &beat}.Run(ctx)
}

// apply reconciles the kernel's rules.
func (u *unidler) apply(ctx context.Context) error {
	err := u.objects.problem()
	if u.objects.synced() {
		err = errors.Join(err, u.ensure(ctx))
	}
	u.note(err)
	return err
}

func (u *unidler) ensure(ctx context.Context) error {
	ports := u.idled()
	t := idleRules(ports)
	restored, err := u.table.ensure(ctx, t)
	if restored {
		u.repaired(t.title())
	}
	if err != nil {
		return err
	}
	if u.ports.Swap(int64(len(ports))) == 0 && len(ports) == 0 {
		return nil
	}
	return u.count(ctx)
}

// idled returns the ports of idled Services.
func (u *unidler) idled() []idling.Port {
	u.mu.Lock()
	defer u.mu.Unlock()
	ports, _ := u.holder.Update(time.Now(), idling.Services(list[*corev1.Service](u.objects.services), list[*discoveryv1.EndpointSlice](u.objects.endpoints)))
	return ports
}

var counted = regexp.MustCompile(`packets (\d+) bytes`)

// count reads the number of packets held back.
func (u *unidler) count(ctx context.Context) error {
	out, err := runNFT(ctx, "list", "counter", "ip", idleTable, heldCounter)
	if err != nil {
		return err
	}
	if m := counted.FindStringSubmatch(out); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			u.held.Store(n)
		}
	}
	return nil
}

// listen receives the packets that the kernel holds back.
func (u *unidler) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := nflog.Listen(ctx, logGroup, func(p nflog.Packet) { u.packet(ctx, p) }); err != nil {
			u.log.Warn("cannot receive packets to idled Services", "error", err)
			agent.Pause(ctx, resyncInterval, nil)
		}
	}
}

// protocolNames maps protocol numbers to the protocols of Services.
var protocolNames = map[uint8]corev1.Protocol{6: corev1.ProtocolTCP, 17: corev1.ProtocolUDP, 132: corev1.ProtocolSCTP}

// packet requests the pods of a packet's Service, once per burst.
func (u *unidler) packet(ctx context.Context, p nflog.Packet) {
	now := time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	port := idling.Port{Address: p.Destination, Protocol: protocolNames[p.Protocol], Port: p.DestinationPort}
	service, ask := u.holder.Held(now, port)
	if service.Name == "" {
		port.Address = netip.Addr{} // a node's address
		service, ask = u.holder.Held(now, port)
	}
	if ask {
		go u.requestPods(ctx, service, port, now)
	}
}

// requestPods creates the Event that requests pods. Controllers use the time of the last occurrence. The message differs each time, so that clients do not
// deduplicate the Events.
func (u *unidler) requestPods(ctx context.Context, s idling.Service, p idling.Port, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	at := metav1.NewTime(now)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprintf("%s.%x", s.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID},
		Reason:         idling.NeedPods, Type: corev1.EventTypeNormal, Count: 1, FirstTimestamp: at, LastTimestamp: at,
		Message: fmt.Sprintf("The Service %s/%s is idled and needs pods: node %s holds back a connection to its port %s %d since %s",
			s.Namespace, s.Name, u.node, p.Protocol, p.Port, now.UTC().Format(time.RFC3339Nano)),
		Source: corev1.EventSource{Component: component, Host: u.node}, ReportingController: component, ReportingInstance: u.node,
	}
	if _, err := u.client.CoreV1().Events(s.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		u.log.Warn("cannot request the pods of an idled Service; the next packet retries", "service", s.String(), "error", err)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.holder.Unasked(s.NamespacedName)
		return
	}
	u.log.Info("requested the pods of an idled Service", "service", s.String())
}

// idleRules returns the table that holds back packets to ports. Its chains run where kube-proxy rejects packets to Services without endpoints; packets that
// were translated to an endpoint no longer have the Service's address.
func idleRules(ports []idling.Port) nftTable {
	const key = "meta l4proto . th dport"
	addresses := collection{name: heldAddresses, kind: "ipv4_addr . inet_proto . inet_service"}
	nodePorts := collection{name: heldNodePorts, kind: "inet_proto . inet_service"}
	for _, p := range ports {
		port := []string{strings.ToLower(string(p.Protocol)), strconv.Itoa(int(p.Port))}
		if p.Address.IsValid() {
			addresses.elements = append(addresses.elements, element{key: append([]string{p.Address.String()}, port...)})
		} else {
			nodePorts.elements = append(nodePorts.elements, element{key: port})
		}
	}
	toService := knftables.Concat("ct state new ip daddr .", key, "@"+heldAddresses, "goto hold")
	toNode := knftables.Concat("ct state new fib daddr type local", key, "@"+heldNodePorts, "goto hold")
	at := func(hook knftables.BaseChainHook, rules ...string) chain {
		return chain{string(hook), knftables.FilterType, hook, beforeRejection, "", rules}
	}
	return nftTable{
		family: knftables.IPv4Family, name: idleTable, counters: []string{heldCounter},
		collections: []collection{addresses, nodePorts, {
			name: reportedPorts, kind: addresses.kind, flags: []knftables.SetFlag{knftables.DynamicFlag, knftables.TimeoutFlag}, timeout: reportInterval, size: 16384,
		}},
		chains: []chain{
			{name: "hold", rules: []string{
				"counter name " + heldCounter,
				// Packets to one port must neither overload the agent nor hide packets to other ports.
				knftables.Concat("add @"+reportedPorts, "{ ip daddr .", key, "limit rate 1/second burst 3 packets } log group", logGroup),
				"drop",
			}},
			at(knftables.ForwardHook, toService), at(knftables.InputHook, toService, toNode), at(knftables.OutputHook, toService, toNode),
		},
	}
}
