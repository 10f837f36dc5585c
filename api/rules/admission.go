package rules

// The sentences of admission policies about objects that a network in use depends on.
var (
	DeletionInUse      = New("deletion-in-use", "must not be deleted while a network of type %s is in use: the network would keep running, but no longer be managed. To remove the network from every node, run: cno uninstall. To delete this object only, annotate it with %s=true")
	ServiceCIDROutside = New("service-cidr-outside", "is outside spec.serviceNetwork of Network/cluster (%s), and a network of type %s serves that range only: NO_PROXY, the status of the cluster network and the check for overlap with pods and nodes would not include it. Use a range inside %s. To store it nevertheless, annotate it with %s=true")
)

// The sentences of admission policies about the annotations and events that agents of a network write.
var (
	AnnotationsOnly    = New("annotations-only", "service account %s of the network may only change %s")
	AnnotationsOwnNode = New("annotations-own-node", "service account %s of the network may only change objects of the node of its own pod")
	FightsOfAgents     = New("fights-of-agents", "events with the reason %s about a Node may only be created by the agents of the network, since they set it to Degraded; use another reason")
	ReservedAnnotation = New("reserved-annotation", "is written by %s only; omit it or leave it unchanged")
)

// The sentences of the admission policies that limit the operator's own account.
var (
	OwnWorkloads          = New("own-workloads", "the network operator may only write workloads of its operands and of EgressRouters")
	OwnPods               = New("own-pods", "the network operator may only delete its own pods and those of its operands with hostNetwork")
	OwnBindings           = New("own-bindings", "the network operator may only write bindings of its operands")
	OwnBindingsOfSecrets  = New("own-bindings", "the network operator binds %s only to itself, by a RoleBinding in %s")
	OwnBindingsOfPKI      = New("own-bindings", "the network operator binds %s only to itself, by a RoleBinding of that name")
	OwnBindingsOfRoles    = New("own-bindings", "the network operator may only grant roles of its operands, and only to their service accounts")
	OwnObjects            = New("own-objects", "the network operator may only write namespaces, service accounts, services, network policies, OperatorPKIs and cluster roles of its operands, and delete ConfigMaps in their namespaces")
	OwnSecrets            = New("own-secrets", "the network operator writes certificates, keys and host networks where a role lets it update Secrets, and copies of its pull secret in the namespaces of its operands")
	OwnDefinitions        = New("own-definitions", "the network operator may only write CustomResourceDefinitions of its operands")
	OwnPKIs               = New("own-pkis", "the network operator may only read the Secrets of namespaces that have an OperatorPKI")
	OwnMachineConfigs     = New("own-machineconfigs", "the network operator may only write MachineConfigs of HostNetworkConfigs")
	OwnMachineConfigFiles = New("own-machineconfigs", "the network operator gives nodes files in %s only, and host-network.conf")
	OwnMachineConfigUnits = New("own-machineconfigs", "the network operator gives nodes the units of host-network only, and masks %s")
	OwnMachineConfigParts = New("own-machineconfigs", "the network operator gives nodes files and units only: no users, kernel arguments or other configurations")
)

// The sentences of the guards of OpenShiftSDN (provider.Guard).
var (
	NetNamespaceCreated     = New("netnamespace-netid", "a NetNamespace is created for each Namespace by the controller, which chooses its VNID; create the Namespace %s")
	NetNamespaceVNID        = New("netnamespace-netid", "is not %d, and only the controller changes a VNID; use cno pod-network, or annotate the NetNamespace with %s")
	EgressIPNetwork         = New("egress-ip-network", "is inside the network of pods or Services (%s); choose an address of the network of the nodes")
	HostSubnetPools         = New("hostsubnet-pools", "is outside the cluster network (%s); choose a block inside it, or leave it out with the annotation %s=true")
	HostSubnetMissing       = New("hostsubnet-subnet", "is missing; write a block of the cluster network (%s), or add the annotation %s=true to get one")
	HostSubnetHostIP        = New("hostsubnet-host-ip-network", "is inside the network of pods or Services (%s); write the address of the host in the network of the nodes")
	HostSubnetEgressIPs     = New("hostsubnet-egress-ips", "beside egressCIDRs: the controller assigns addresses of egressCIDRs, and replaces others; leave egressIPs as they are, or remove egressCIDRs")
	EgressNetworkPolicyBits = New("egressnetworkpolicy-host-bits", "%s; write that")
	EndpointsRestricted     = New("endpoints-restricted", "is inside the network of pods or Services (%s); only users who may create %s/restricted may write such endpoints; use a selector in the Service")
)

// The sentences of the guard of further networks (provider.Guard).
var (
	FurtherNetworksHostNetwork = New("further-networks-host-network", "a pod on the network of its node gets no further networks; remove the annotation %s or %s, or hostNetwork")
	FurtherNetworksAnnotation  = New("further-networks-annotation", "is not a list of networks; write name, namespace/name or name@interface, separated by commas, or a JSON list")
	FurtherNetworksIsolation   = New("further-networks-isolation", "the network %s is in another namespace, which spec.multiNetwork.namespaceIsolation of the Network does not allow; use one of %s, or of the namespaces %s")
	AddressRecordsOwnNode      = New("address-records-own-node", "service account %s of the network may only write records of addresses for pods of the node of its own pod")
	DefaultNetworkAnnotation   = New("default-network-annotation", "is not the name of one NetworkAttachmentDefinition in namespace %s; definitions for the default network are only taken from there")
)
