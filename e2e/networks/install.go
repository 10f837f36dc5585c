package networks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// settleTimeout is the time limit for a network to become available.
const settleTimeout = 4 * time.Minute

// Install returns the steps that create a lab with the network. The arguments are additional options of lab up.
func (n Network) Install(k *kit.Kit, up ...string) []kit.Step {
	return append(n.Prepare(k, up...), n.Apply(k)...)
}

// Prepare returns the steps that create a lab with the operator but without a Network. The arguments are additional options of lab up.
func (n Network) Prepare(k *kit.Kit, up ...string) []kit.Step {
	k.Type = n.Type
	var steps []kit.Step
	if n.Build != nil {
		steps = append(steps, kit.Step{Title: fmt.Sprintf("build the additional images and manifests of %s", n.Type), Do: func(context.Context) (err error) {
			k.Overlay, err = n.Build(k)
			return err
		}})
	}
	return append(steps, k.Bare(slices.Concat(n.LabUp, up)...)...)
}

// Apply returns the steps that install the network with an installed operator.
func (n Network) Apply(k *kit.Kit) []kit.Step {
	steps := []kit.Step{
		{Title: "apply " + n.Object, Do: func(ctx context.Context) error {
			object, err := n.YAML(k)
			if err != nil {
				return err
			}
			_, err = k.KubectlInput(ctx, object, "apply", "-f", "-")
			return err
		}},
	}
	if n.Manifest != "" {
		steps = append(steps, kit.Step{Title: "apply " + n.Manifest, Do: func(ctx context.Context) error {
			_, err := k.Kubectl(ctx, "apply", "-f", filepath.Join(k.Root, n.Manifest))
			return err
		}})
	}
	return append(steps, kit.Step{Title: "wait until the network is available and every node ready", Do: func(ctx context.Context) error {
		return k.WaitSettled(ctx, settleTimeout)
	}})
}

// Main is kit.MainWith for the network that the environment variable names.
func Main(m *testing.M, lab **kit.Kit, network *Network, up ...string) int {
	var err error
	if *network, err = Find(os.Getenv(Variable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return kit.MainWith(m, lab, func(k *kit.Kit) []kit.Step { return network.Install(k, up...) })
}
