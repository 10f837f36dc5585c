package connectivity

import (
	"reflect"

	configv1 "github.com/openshift/api/config/v1"
)

// Enabled reports whether connectivity checks are enabled. The cluster's configuration takes precedence over the network's specification
// unless it is empty. config is nil if there is none.
func Enabled(config *configv1.NetworkDiagnostics, disabled bool) bool {
	if config == nil || empty(*config) {
		return !disabled
	}
	return config.Mode != configv1.NetworkDiagnosticsDisabled
}

// empty reports whether the configuration has no values. Empty maps and lists count as unset.
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
