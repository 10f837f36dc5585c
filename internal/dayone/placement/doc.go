// Package placement selects the file of host network configuration of a host.
//
// The files are in Dir on every node of a role: cluster.yml for all hosts, and <short host name>.yml for a single host. A host's file replaces cluster.yml;
// files are not merged on the node. Nodes, the command line and the operator all use Select. Package machineconfig installs the files on nodes, and package
// validation validates them.
//
// The package is pure: files are values, or in an fs.FS.
package placement
