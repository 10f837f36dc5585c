// Package metric registers metrics for loops of which several may run in one process, one after the other.
package metric

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Registered registers a collector. If one like it is registered already, that one is returned: anyone who comes later goes on
// counting where the one before has stopped. The error is that of the registry, for a collector that contradicts another.
func Registered[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	if have, already := errors.AsType[prometheus.AlreadyRegisteredError](err); already {
		if same, ok := have.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, err
}
