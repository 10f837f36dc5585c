//go:build tools

// Package helm pins the helm that suites run; it holds no code.
package helm

import _ "helm.sh/helm/v4/cmd/helm"
