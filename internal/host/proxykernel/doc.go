// Package proxykernel checks that the kernel of a node has what a mode of kube-proxy needs. kube-proxy removes the rules
// of other modes whenever it starts, before it knows whether it can run in its own: the check is therefore run first.
//
// Every request to the kernel is made in a new network namespace, which ends with the check: nothing of the node changes,
// except that the kernel may load modules, as it would for kube-proxy.
package proxykernel
