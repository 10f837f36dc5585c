// Package metric registers metrics for controllers of which several instances may run in one process in sequence.
package metric

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Registered registers a collector. If an equal one is registered already, it returns that one, so that a later instance
// continues its counters. The error is that of the registry for a conflicting collector.
func Registered[C prometheus.Collector](registry prometheus.Registerer, c C) (C, error) {
	err := registry.Register(c)
	if existing, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := existing.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, err
}
