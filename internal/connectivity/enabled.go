package connectivity

import (
	"reflect"

	configv1 "github.com/openshift/api/config/v1"
)

// Enabled reports whether connectivity is to be checked. What the cluster's configuration says counts, if it says anything;
// else whether the network's specification turns it off. said is nil where there is no such configuration.
func Enabled(said *configv1.NetworkDiagnostics, disabled bool) bool {
	if said == nil || empty(*said) {
		return !disabled
	}
	return said.Mode != configv1.NetworkDiagnosticsDisabled
}

// empty reports whether nothing is said. An empty map or list says no more than none.
func empty(d configv1.NetworkDiagnostics) bool {
	for _, placement := range []reflect.Value{reflect.ValueOf(d.SourcePlacement), reflect.ValueOf(d.TargetPlacement)} {
		for i := range placement.NumField() {
			if placement.Field(i).Len() > 0 {
				return false
			}
		}
	}
	return d.Mode == ""
}
