package flows

// Tables of br0.
const (
	tableDispatch   uint8 = 0
	tableTunnel     uint8 = 10
	tablePod        uint8 = 20
	tableReentry    uint8 = 25
	tableEgress     uint8 = 27
	tableCommit     uint8 = 30
	tableRoute      uint8 = 31
	tableARPLocal   uint8 = 40
	tableARPRemote  uint8 = 50
	tableService    uint8 = 60
	tableLocal      uint8 = 70
	tableIngress    uint8 = 80
	tableRemote     uint8 = 90
	tableLeaving    uint8 = 99
	tableFirewall   uint8 = 100
	tableEgressIP   uint8 = 101
	tableEgressNode uint8 = 102
	tableMulticast  uint8 = 110
	tableSpread     uint8 = 111
	tableCopies     uint8 = 112
	tableDistribute uint8 = 120
	tableNote       uint8 = 253
)

// Registers.
const (
	regSource      = 0
	regDestination = 1
	regPort        = 2
	regSlot        = 3
	regGroup       = 4
)

// Table documents a table of br0.
type Table struct {
	Number uint8
	Text   string
}

// Tables has all tables.
var Tables = []Table{
	{tableDispatch, "Every packet begins here: IP packets are looked up in connection tracking, then the port that a packet came by decides where it continues."},
	{tableTunnel, "Packets of other nodes: who may send them."},
	{tablePod, "Packets of pods of this node: addresses that are not the pod's are dropped, and the source VNID is set."},
	{tableReentry, "Packets of pods of this node that come back from the kernel, which has translated a Service's address: the source VNID is set again."},
	{tableEgress, "Policies of the sending pod, after the translation of Services."},
	{tableCommit, "Connections are made known to connection tracking."},
	{tableRoute, "Where the destination is."},
	{tableARPLocal, "ARP for pods of this node."},
	{tableARPRemote, "ARP for addresses of other nodes."},
	{tableService, "Packets to Services: the node's kernel translates them."},
	{tableLocal, "Pods of this node: their port and VNID."},
	{tableIngress, "Whether a pod of this node gets the packet: policies, or equal VNIDs."},
	{tableRemote, "Pods of other nodes: the node to which the packet goes."},
	{tableLeaving, "Traffic that leaves the cluster network: what neither firewalls nor egress IPs concern."},
	{tableFirewall, "Egress firewalls: the rules of EgressNetworkPolicies in their order."},
	{tableEgressIP, "The node by which the packet leaves, and the address with which it does."},
	{tableEgressNode, "Which of the nodes that have egress IPs of a VNID sends the packet. A node that fails changes the choice for its own connections only."},
	{tableMulticast, "Whether a pod may send multicast."},
	{tableSpread, "Copies of multicast packets to all other nodes, group by group: one flow cannot name thousands of nodes. Without multicast the table is empty."},
	{tableCopies, "Copies of multicast packets to the nodes of one group."},
	{tableDistribute, "Copies of multicast packets to the pods of this node with the same VNID."},
	{tableNote, "No packet comes here. The table has one flow with a hash of the settings for which the bridge was made."},
}

// Register documents a register.
type Register struct {
	Number int
	Text   string
}

// Registers has all registers in use.
var Registers = []Register{
	{regSource, "VNID of the source: of the pod, 0 for nodes and for what comes from outside of the cluster."},
	{regDestination, "VNID of the destination, a pod of this node."},
	{regPort, "Port of the destination, a pod of this node."},
	{regSlot, "Number of the connection, 0 to 63, by which one of several egress IPs is chosen."},
	{regGroup, "Number of the group of nodes to which a multicast packet is copied."},
}

// Rule is a kind of flow.
type Rule struct {
	Table    uint8
	Priority uint16
	// Text describes the flows. It is the note of flows without their own.
	Text string
}

// firewallTop is the priority of the first rule of an egress firewall; each further one has one less.
const firewallTop = 20000

// Rules has all kinds of flows. Those of a table are sorted by priority.
var Rules = []*Rule{
	track, notLocal, tunnelARP, tunnelIP, tunnelAnswer, tunnelOther, nodeMulticast, nodeARP, nodeSelf, nodeReentry, nodeForged, nodeOther, nodeOtherARP, fromPods, otherProtocol,
	peerNode, noPeer,
	vxlanByPod, podARP, podIP, forged,
	reentry, noReentry,
	egressReply, egressService, egressAllowed, egressConjunction, egressIsolated, egressDefault,
	keepMark, commitMark, keepService, commitNew, commitNone,
	serviceReply, toNode, arpNode, arpLocal, arpRemote, toLocal, toService, toRemote, multicastIn, multicastOut, toOutside, noRoute,
	arpPod, noARPPod,
	arpPeer, noARPPeer,
	serviceLoop, serviceRestricted, service,
	localPod, noLocalPod,
	ingressNode, ingressService, ingressReply, ingressGlobal, ingressAllowed, ingressConjunction, ingressSameVNID, ingressIsolated, ingressOpen, ingressDenied,
	remoteLoop, remotePeer, noRemote,
	leavingLoop, leavingTunnel, leavingRestricted, leavingReply, leavingDNS, leavingOther,
	firewallClosed, firewallRule, firewallNone,
	egressShared, egressHere, egressLoop, egressElsewhere, egressNone,
	egressSlot, egressNoSlot,
	multicastAllowed, multicastDenied,
	spread,
	spreadGroup,
	distribute, distributeNone,
	settingsNote,
}

var (
	track         = &Rule{tableDispatch, 1000, "IP packets are looked up in connection tracking first"}
	notLocal      = &Rule{tableDispatch, 300, "the local port of the bridge sends nothing"}
	tunnelARP     = &Rule{tableDispatch, 250, "ARP of other nodes for addresses of this node"}
	tunnelIP      = &Rule{tableDispatch, 250, "packets of the cluster network by the tunnel"}
	tunnelAnswer  = &Rule{tableDispatch, 240, "answers from outside to pods whose egress IP another node has"}
	tunnelOther   = &Rule{tableDispatch, 200, "packets by the tunnel that are not of the cluster network"}
	nodeMulticast = &Rule{tableDispatch, 280, "multicast does not leave or enter by the node"}
	nodeARP       = &Rule{tableDispatch, 250, "ARP of this node"}
	nodeSelf      = &Rule{tableDispatch, 250, "packets of this node itself, and of clients outside of the cluster"}
	nodeReentry   = &Rule{tableDispatch, 240, "packets of pods that the kernel has translated for a Service"}
	nodeForged    = &Rule{tableDispatch, 230, "packets by the node whose source is a pod's address, but not one of this node's pods"}
	nodeOther     = &Rule{tableDispatch, 220, "other packets of the node: answers of Services, and clients that keep their address"}
	nodeOtherARP  = &Rule{tableDispatch, 200, "everything else by the node is neither IP nor ARP of its own address"}
	fromPods      = &Rule{tableDispatch, 100, "all other ports are those of pods"}
	otherProtocol = &Rule{tableDispatch, 0, "neither IPv4 nor ARP"}

	peerNode = &Rule{tableTunnel, 100, "the sender is a node"}
	noPeer   = &Rule{tableTunnel, 0, "the sender of the tunnel packet is no node"}

	vxlanByPod = &Rule{tablePod, 300, "pods do not send to the UDP port of tunnels"}
	podARP     = &Rule{tablePod, 100, "ARP of a pod with its own addresses"}
	podIP      = &Rule{tablePod, 100, "packets of a pod with its own address"}
	forged     = &Rule{tablePod, 0, "the source address is not the pod's"}

	reentry   = &Rule{tableReentry, 100, "a pod of this node by its address"}
	noReentry = &Rule{tableReentry, 0, "the source is no pod of this node"}

	egressReply       = &Rule{tableEgress, 250, "answers pass"}
	egressService     = &Rule{tableEgress, 200, "policies apply to packets to Services after their translation"}
	egressAllowed     = &Rule{tableEgress, 151, "a rule of a policy for every peer and port"}
	egressConjunction = &Rule{tableEgress, 150, "rules of policies as conjunctions: pods, peers, ports; of each namespace, the next 4,000 rules with one of these have a priority less"}
	egressIsolated    = &Rule{tableEgress, 100, "pods that a policy isolates"}
	egressDefault     = &Rule{tableEgress, 0, "no policy isolates the pod"}

	keepMark    = &Rule{tableCommit, 120, "connections by a Service that are known as such"}
	commitMark  = &Rule{tableCommit, 110, "connections by a Service get mark 1: their answers pass the kernel again"}
	keepService = &Rule{tableCommit, 105, "the kernel tracks packets with a Service's address, and multicast has no answers"}
	commitNew   = &Rule{tableCommit, 100, "new connections become known"}
	commitNone  = &Rule{tableCommit, 0, "everything else"}

	serviceReply = &Rule{tableRoute, 260, "answers of connections by a Service go to the kernel, which translates them back"}
	toNode       = &Rule{tableRoute, 250, "the addresses of tun0"}
	arpNode      = &Rule{tableRoute, 250, "ARP for the addresses of tun0"}
	arpLocal     = &Rule{tableRoute, 200, "ARP for pods of this node"}
	arpRemote    = &Rule{tableRoute, 100, "ARP for the cluster network"}
	toLocal      = &Rule{tableRoute, 200, "pods of this node"}
	toService    = &Rule{tableRoute, 150, "Services"}
	toRemote     = &Rule{tableRoute, 100, "pods of other nodes"}
	multicastIn  = &Rule{tableRoute, 60, "multicast of other nodes"}
	multicastOut = &Rule{tableRoute, 50, "multicast of pods"}
	toOutside    = &Rule{tableRoute, 10, "everything else is outside of the cluster"}
	noRoute      = &Rule{tableRoute, 0, "ARP for an address outside of the cluster network"}

	arpPod    = &Rule{tableARPLocal, 100, "the pod with the address"}
	noARPPod  = &Rule{tableARPLocal, 0, "no pod of this node has the address"}
	arpPeer   = &Rule{tableARPRemote, 100, "the node of the address"}
	noARPPeer = &Rule{tableARPRemote, 0, "no node has the address in its block"}

	serviceLoop       = &Rule{tableService, 200, "packets to a Service that the kernel has not translated do not go back to it, and other nodes send none"}
	serviceRestricted = &Rule{tableService, 100, "of pods with egress IPs: the kernel drops what would leave the cluster with the address of the node"}
	service           = &Rule{tableService, 0, "to the kernel"}

	localPod   = &Rule{tableLocal, 100, "the pod with the address"}
	noLocalPod = &Rule{tableLocal, 0, "no pod of this node has the address"}

	ingressNode        = &Rule{tableIngress, 300, "the pod's own node always reaches it"}
	ingressService     = &Rule{tableIngress, 250, "answers that the kernel has translated back to a Service's address"}
	ingressReply       = &Rule{tableIngress, 200, "answers pass"}
	ingressGlobal      = &Rule{tableIngress, 200, "VNID 0 reaches all pods, and all reach it"}
	ingressAllowed     = &Rule{tableIngress, 151, "a rule of a policy for every peer and port"}
	ingressConjunction = &Rule{tableIngress, 150, "rules of policies as conjunctions: pods, peers, ports; of each namespace, the next 4,000 rules with one of these have a priority less"}
	ingressSameVNID    = &Rule{tableIngress, 100, "equal VNIDs"}
	ingressIsolated    = &Rule{tableIngress, 100, "pods that a policy isolates"}
	ingressOpen        = &Rule{tableIngress, 50, "nothing isolates the pod"}
	ingressDenied      = &Rule{tableIngress, 0, "the VNIDs of source and destination differ"}

	remoteLoop = &Rule{tableRemote, 200, "packets of another node for a third one"}
	remotePeer = &Rule{tableRemote, 100, "the node of the address"}
	noRemote   = &Rule{tableRemote, 0, "no node has the address in its block"}

	leavingLoop       = &Rule{tableLeaving, 300, "packets of the node for outside do not go through the bridge"}
	leavingTunnel     = &Rule{tableLeaving, 290, "packets of other nodes: only those for an egress IP of this one leave"}
	leavingRestricted = &Rule{tableLeaving, 255, "answers to connections from outside, of pods with egress IPs: the kernel drops what is no answer"}
	leavingReply      = &Rule{tableLeaving, 250, "answers to connections from outside"}
	leavingDNS        = &Rule{tableLeaving, 200, "DNS to the pod's own node"}
	leavingOther      = &Rule{tableLeaving, 0, "everything else"}

	firewallClosed = &Rule{tableFirewall, firewallTop + 1, "egress firewalls that contradict one another: everything is dropped"}
	firewallRule   = &Rule{tableFirewall, firewallTop, "the first rule of an egress firewall; each further one has a priority less"}
	firewallNone   = &Rule{tableFirewall, 0, "no rule matches"}

	egressShared    = &Rule{tableEgressIP, 140, "pods of a namespace that asks for egress IPs, and shares its VNID with others"}
	egressHere      = &Rule{tableEgressIP, 130, "the VNID has an egress IP on this node"}
	egressLoop      = &Rule{tableEgressIP, 120, "another node takes this one for the node of an egress IP that it does not have"}
	egressElsewhere = &Rule{tableEgressIP, 100, "the VNID has egress IPs: on other nodes, or on none that works"}
	egressNone      = &Rule{tableEgressIP, 0, "with the address of this node"}
	egressSlot      = &Rule{tableEgressNode, 100, "the node for the number of the connection"}
	egressNoSlot    = &Rule{tableEgressNode, 0, "no node has the number of the connection"}

	multicastAllowed = &Rule{tableMulticast, 100, "the VNID may use multicast"}
	multicastDenied  = &Rule{tableMulticast, 0, "multicast is not enabled for the namespace"}
	spread           = &Rule{tableSpread, 0, "copies for each group of nodes, then for the pods of this node"}
	spreadGroup      = &Rule{tableCopies, 100, "a copy for each node of the group"}
	distribute       = &Rule{tableDistribute, 100, "a copy for each pod of the VNID; the sender gets none"}
	distributeNone   = &Rule{tableDistribute, 0, "no pod of this node has multicast enabled in the VNID"}

	settingsNote = &Rule{tableNote, 0, "the hash of mode, version, block and ports"}
)
