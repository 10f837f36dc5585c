package egressrouter

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// multus is the CRD of Multus.
const multus = "network-attachment-definitions.k8s.cni.cncf.io"

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{OpenShift: []string{multus}}) }
