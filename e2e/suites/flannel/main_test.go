// Package flannel has the tests of flannel, and those of parts that are independent of the network, on a cluster with one control-plane node
// and two workers. Those of every network are in suites/network. The tests share one lab, one after the other; each restores the network.
// Files are named after the behaviour that they test.
package flannel

import (
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) { os.Exit(kit.Main(m, &lab, "network-flannel.yaml")) }
