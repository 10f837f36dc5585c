package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// share resolves what maxUnavailable says for a number of nodes. What cannot be understood is 1.
func share(value any, nodes int) int {
	v := intstr.Parse(fmt.Sprint(value))
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, nodes, true)
	if err != nil {
		return 1
	}
	return n
}
