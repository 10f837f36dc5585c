// Package single holds the promises that are kept on a cluster with one control-plane node and two workers. The
// tests share one lab, one after the other; each leaves the network as it found it. Files are named after
// the promise they prove.
package single

import (
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) { os.Exit(kit.Main(m, &lab, "network-flannel.yaml")) }
