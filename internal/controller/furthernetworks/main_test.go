package furthernetworks

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// TestMain has the API server serve the kinds that the operator installs.
func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{CRDs: apitest.ReadCRDs("providers/multus/assets/definitions"), WithoutProjectCRDs: true})
}
