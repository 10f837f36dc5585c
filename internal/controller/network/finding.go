package network

import (
	"github.com/cluster-network-operator/cno/internal/status"
)

// mostErrors is how many errors of one kind a condition names; the others are counted.
const mostErrors = 10

// degraded makes the findings of something that needs a person, now.
func degraded(component, reason, message string) []status.Finding {
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Immediate: true},
		{Component: component, Effect: status.NotUpgradeable, Reason: reason, Message: message, Immediate: true},
	}
}

// passing makes the findings of something that is tried again: Progressing, and Degraded once it has failed for long.
func passing(component, reason, message string) []status.Finding {
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Meanwhile: status.Progressing},
		{Component: component, Effect: status.NotUpgradeable, Reason: reason, Message: message},
	}
}
