package network

import (
	"github.com/cluster-network-operator/cno/internal/status"
)

// maxErrors is the maximum number of errors that a condition lists; the rest is counted.
const maxErrors = 10

// degraded returns the findings of a problem that needs user action.
func degraded(component, reason, message string) []status.Finding {
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Immediate: true},
		{Component: component, Effect: status.NotUpgradeable, Reason: reason, Message: message, Immediate: true},
	}
}

// transient returns the findings of a problem that is retried: Progressing, and Degraded after a delay.
func transient(component, reason, message string) []status.Finding {
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Meanwhile: status.Progressing},
		{Component: component, Effect: status.NotUpgradeable, Reason: reason, Message: message},
	}
}
