// Package placement says which file of host network configuration is for which host, and how the files get there.
//
// The files lie in Dir on every node of a role: cluster.yml for all hosts, <short host name>.yml for one. A host's
// file replaces cluster.yml; nothing is merged on the node. Select is the rule, and the same code decides on the
// node, on the command line and in the operator. MachineConfig packs the files of a role into one object, FromMachineConfigs
// takes them out again, Validate looks for what would leave a node without br-ex, and Diff compares two documents.
//
// It is pure: files come in as values, or as an fs.FS.
package placement
