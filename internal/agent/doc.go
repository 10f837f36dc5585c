// Package agent is what the agents of networks on nodes share: values that goroutines wait for, the board of problems, the state
// file, health, readiness and metrics, a loop with back-off, and the subcommands of an agent's program. It knows no network.
package agent
