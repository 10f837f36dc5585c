// Package openshift is what an OpenShift cluster has beside Kubernetes, for tests and for the lab: its
// CRDs, from the files of the module github.com/openshift/api, so that they are those of real
// clusters, and the objects that a new cluster has before its network comes up.
//
// It reads the module's directory, which the go command finds; so it is for machines that build this project, and not
// part of any program that runs in a cluster.
package openshift
