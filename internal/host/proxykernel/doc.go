// Package proxykernel checks that the kernel of a node supports a mode of kube-proxy. The check runs before kube-proxy, because kube-proxy removes the
// rules of other modes when it starts, before it detects whether its own mode works.
//
// All requests to the kernel are made in a new network namespace, which ends with the check. The node does not change, except that the kernel may load
// modules, as it does for kube-proxy.
package proxykernel
