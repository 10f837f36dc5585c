// Package olm validates the OLM bundle with operator-framework's own validators. It is a module of its own: the validators need
// versions of Kubernetes' modules with which nothing else here compiles.
package olm
