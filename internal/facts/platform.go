package facts

import configv1 "github.com/openshift/api/config/v1"

// Platform returns the platform that an Infrastructure tells: in its status, where early installers had another field
// for it. It is empty while none is told, and for nil.
func Platform(infra *configv1.Infrastructure) string {
	if infra == nil {
		return ""
	}
	if s := infra.Status.PlatformStatus; s != nil && s.Type != "" {
		return string(s.Type)
	}
	return string(infra.Status.Platform)
}
