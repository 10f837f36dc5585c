// Package bench measures the operator as it runs in a cluster: its own binary in a separate process, with the
// permissions of config/rbac, against a real kube-apiserver and etcd, with the real networks. Its benchmarks report
// times and never fail because of them, since other processes may use the machine.
//
// There are no kubelets. A stand-in sets the statuses of workloads and answers the probes of nodes, so that the
// benchmarks measure the operator and not the start of pods.
//
// Each figure is reported with its goal and with that of OpenShift's operator on the same kind of machine.
// docs/benchmarks.md describes how to run them and their results.
package bench
