package facts

import configv1 "github.com/openshift/api/config/v1"

// Platform returns the platform in the status of an Infrastructure, for which early installers used another field; "" if
// it is not set, and for nil.
func Platform(infra *configv1.Infrastructure) string {
	if infra == nil {
		return ""
	}
	if s := infra.Status.PlatformStatus; s != nil && s.Type != "" {
		return string(s.Type)
	}
	return string(infra.Status.Platform)
}
