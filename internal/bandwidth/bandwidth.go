// Package bandwidth decodes the annotations that limit the bandwidth of pods. It is pure.
package bandwidth

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The annotations of Kubernetes: bits per second, such as 10M.
const (
	AnnotationIngress = "kubernetes.io/ingress-bandwidth"
	AnnotationEgress  = "kubernetes.io/egress-bandwidth"
)

// The valid range of the annotations, in bits per second.
const (
	least = 1_000
	most  = 1_000_000_000_000_000
)

// Limits are the limits of a pod in kilobits per second; 0 means none.
type Limits struct {
	// Ingress limits traffic to the pod, Egress traffic from it.
	Ingress, Egress uint64
}

// Burst returns the burst in kilobits for a limit in kilobits per second: that of a quarter of a second, since TCP does not reach the limit
// with less, and at least a few packets.
func Burst(kilobits uint64) uint64 { return max(kilobits/4, 64) }

// Read returns the limits of a pod with these annotations. The error has all invalid values.
func Read(annotations map[string]string) (l Limits, err error) {
	var errs []error
	for _, a := range []struct {
		name string
		to   *uint64
	}{{AnnotationIngress, &l.Ingress}, {AnnotationEgress, &l.Egress}} {
		text, set := annotations[a.name]
		if !set {
			continue
		}
		q, err := resource.ParseQuantity(text)
		if err != nil || q.CmpInt64(least) < 0 || q.CmpInt64(most) > 0 {
			errs = append(errs, fmt.Errorf("annotation %s is %q, and must be 1k to 1P bits a second; write for example 10M", a.name, text))
			continue
		}
		*a.to = uint64((q.Value() + 999) / 1000)
	}
	if err := errors.Join(errs...); err != nil {
		return Limits{}, err
	}
	return l, nil
}
