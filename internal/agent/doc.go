// Package agent has common functions for the node agents of networks: values that goroutines can wait for, the board of problems, the state file, health,
// readiness and metrics, a loop with back-off, and the subcommands of an agent's binary. It is independent of the network.
package agent
