//go:build tools

// Package coredns pins the name server the lab builds; it holds no code.
package coredns

import (
	_ "github.com/coredns/coredns"
)
