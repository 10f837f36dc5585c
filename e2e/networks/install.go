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

// settles is how long a network may take to become available.
const settles = 4 * time.Minute

// Install lists the steps from no lab to one with the network. The arguments are further options of lab up.
func (n Network) Install(k *kit.Kit, up ...string) []kit.Step {
	return append(n.Prepare(k, up...), n.Apply(k)...)
}

// Prepare lists the steps from no lab to one with the operator, for which there is nothing to do yet. The arguments are further options
// of lab up.
func (n Network) Prepare(k *kit.Kit, up ...string) []kit.Step {
	k.Type = n.Type
	var steps []kit.Step
	if n.Build != nil {
		steps = append(steps, kit.Step{Say: fmt.Sprintf("build what %s needs beside the checkout's images", n.Type), Do: func(context.Context) (err error) {
			k.Overlay, err = n.Build(k)
			return err
		}})
	}
	return append(steps, k.Bare(slices.Concat(n.LabUp, up)...)...)
}

// Apply lists the steps from an installed operator to the network.
func (n Network) Apply(k *kit.Kit) []kit.Step {
	steps := []kit.Step{
		{Say: "apply " + n.Object, Do: func(ctx context.Context) error {
			object, err := n.YAML(k)
			if err != nil {
				return err
			}
			_, err = k.KubectlInput(ctx, object, "apply", "-f", "-")
			return err
		}},
	}
	if n.Manifest != "" {
		steps = append(steps, kit.Step{Say: "apply " + n.Manifest, Do: func(ctx context.Context) error {
			_, err := k.Kubectl(ctx, "apply", "-f", filepath.Join(k.Root, n.Manifest))
			return err
		}})
	}
	return append(steps, kit.Step{Say: "wait until the network is available and every node ready", Do: func(ctx context.Context) error {
		return k.WaitSettled(ctx, settles)
	}})
}

// Main is kit.MainWith for the network that the environment names.
func Main(m *testing.M, lab **kit.Kit, network *Network, up ...string) int {
	var err error
	if *network, err = Find(os.Getenv(Variable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return kit.MainWith(m, lab, func(k *kit.Kit) []kit.Step { return network.Install(k, up...) })
}
