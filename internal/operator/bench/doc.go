// Package bench measures the operator as it runs in a cluster: its own program, as a process of its own, with the
// rights that config/rbac gives it, against a real kube-apiserver and etcd, with the real networks. Its benchmarks
// report and never judge: a time is no reason to fail on a machine that others use too.
//
// There are no kubelets. A stand-in makes workloads look rolled out and answers the probes of nodes, so that what
// is measured is the operator, and not how fast pods start.
//
// Each figure stands beside the goal and beside what the operator that OpenShift ships takes for the same on the
// same kind of machine. docs/benchmarks.md says how to run them, and what they have shown.
package bench
