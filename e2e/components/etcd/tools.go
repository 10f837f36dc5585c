//go:build tools

// Package etcd pins the etcd programs the lab builds; it holds no code.
package etcd

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
