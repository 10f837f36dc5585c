// Package placement says which file of host network configuration is for which host.
//
// The files lie in Dir on every node of a role: cluster.yml for all hosts, <short host name>.yml for one. A host's
// file replaces cluster.yml; nothing is merged on the node. Select is the rule, and the same code decides on the
// node, on the command line and in the operator. Package machineconfig brings the files to nodes, and package validation finds what
// is wrong with them.
//
// It is pure: files come in as values, or as an fs.FS.
package placement
