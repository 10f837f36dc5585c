package render

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hostnetwork "github.com/cluster-network-operator/cno/config/host-network"
	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
)

// programConfig returns the MachineConfig that makes nodes of a role apply their documents with host-network.
func programConfig(role, image string) (*unstructured.Unstructured, error) {
	object, err := hostprogram.MachineConfig(role, image, hostnetwork.Files)
	if err != nil {
		return nil, fmt.Errorf("--host-network-image: %w", err)
	}
	return object, nil
}
