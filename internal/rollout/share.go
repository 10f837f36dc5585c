package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// share resolves maxUnavailable for a number of nodes; 1 if it is invalid.
func share(value any, nodes int) int {
	v := intstr.Parse(fmt.Sprint(value))
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, nodes, true)
	if err != nil {
		return 1
	}
	return n
}
