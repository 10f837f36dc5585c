package metric

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestSecondRegistrationSharesTheCounter(t *testing.T) {
	registry := prometheus.NewRegistry()
	count := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "a", Help: "a"}) }
	first, err := Registered(registry, count())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Registered(registry, count()); err != nil || second != first {
		t.Errorf("the second counter is another one (%v)", err)
	}
	if _, err := Registered(registry, prometheus.NewCounter(prometheus.CounterOpts{Name: "a", Help: "b"})); err == nil {
		t.Error("a counter with the same name and another help text is accepted")
	}
}
