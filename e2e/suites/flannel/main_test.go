// Package flannel holds the promises that flannel alone keeps, and those of parts that no network changes, on a cluster with one
// control-plane node and two workers. Those of every network are in suites/network. The tests share one lab, one after the other; each
// leaves the network as it found it. Files are named after the promise they prove.
package flannel

import (
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) { os.Exit(kit.Main(m, &lab, "network-flannel.yaml")) }
