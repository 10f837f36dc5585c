package pipeline

// The sentences of rules that no table of fields can express. The operator's check and the admission policies use the
// same ones.
const (
	// ServicesStay, PodsStay and BlocksStay are why the pools of a network in use cannot change.
	ServicesStay = "services would keep their old addresses"
	PodsStay     = "pods would keep their old addresses"
	BlocksStay   = "nodes hold blocks of the old length"
	// Unserved is why kube-proxy cannot be removed.
	Unserved = "no other component that serves Services was found: without kube-proxy new connections to Services fail"
	// NoMachines is why spec.migration.mtu.machine cannot be set.
	NoMachines = "this network does not change the links of machines: change those first, on all nodes, then the MTU of pods; to lower both, lower that of pods first; remove the field"
	// SameMTU is about an announcement that changes nothing.
	SameMTU = "is the same as from; set it to the MTU that is wanted"
	// AskAgain is the way out of an MTU that a link does not carry.
	AskAgain = "or raise the links first and delete the ConfigMap mtu, so that nodes are asked again"
	// TurnBack is the way out of an announcement that changes while another one is under way.
	TurnBack = "remove spec.migration or exchange from and to to go back"
)
