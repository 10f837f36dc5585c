// Package eventaction distinguishes events of the same object and reason.
package eventaction

import (
	"fmt"
	"hash/fnv"
)

// Of returns the action of an event with a text: the verb, and a hash of the text. The recorder of events.k8s.io treats events of the same
// object, reason and action as repetitions of the first one, and drops their texts; with this action only the same text is a repetition.
func Of(verb, text string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(text)) // never fails
	return fmt.Sprintf("%s-%08x", verb, sum.Sum32())
}
