package agentconfig

// ReasonPodAddressLost is the reason of the Event by which the agent of a node reports a pod whose address the block of the node no longer has. The controller
// then evicts the pod.
const ReasonPodAddressLost = "PodAddressLost"
