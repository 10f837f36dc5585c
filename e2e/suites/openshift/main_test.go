// Package openshift holds the promises that are kept on a cluster as OpenShift makes it: its APIs are available, the objects
// that its installer leaves exist, and the network comes from Network.config. The tests share one lab, one after the
// other; each leaves what it found. Files are named after the controller whose promises they prove.
package openshift

import (
	"os"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) { os.Exit(kit.MainOpenShift(m, &lab)) }
