#!/bin/sh
# The entrypoint of OVN-Kubernetes' containers. Its argument is the process to run: ovs-server, nb-ovsdb, sb-ovsdb, run-ovn-northd, ovn-master,
# ovn-controller, ovn-node, ovn-ipsec, or display, display_env, ovn_debug. The variables are those of docs/programs/ovnkube.md.
exec /usr/bin/ovnkube "$@"
