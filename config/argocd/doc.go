// Package argocd has the health checks with which Argo CD reads the status of the operator's kinds. Its tests run them.
package argocd
