package networks

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/version"
)

// tag is the build tag that adds the toy network to the list of networks.
const tag = "-tags=toynetwork"

// toyOverlay builds the operator with the toy network in its list, the image of the network, and the generated manifests of config.
func toyOverlay(k *kit.Kit) (string, error) {
	o, err := newOverlay(k, "toy")
	if err != nil {
		return "", err
	}
	bin := o.programs
	for _, step := range []struct {
		output    string
		arguments []string
	}{
		{"", []string{"cp", "-a", "config", "api", o.dir}},
		{"", []string{"go", "build", tag, "-o", bin + "/cluster-network-operator", "./cmd/cluster-network-operator"}},
		{"", []string{"go", "build", "-o", bin + "/toy-agent", "./cmd/toy-agent"}},
		{"", []string{"go", "build", "-o", bin + "/toy", "./cmd/cno-cni"}},
		{"", []string{"go", "build", "-o", bin + "/multus-shim", "./cmd/cno-cni"}},
		{"config/rbac/networks.yaml", []string{"go", "run", tag, "./hack/mkrbac"}},
		{"config/admission/policies.yaml", []string{"go", "run", tag, "./hack/mkadmission"}},
	} {
		if err := o.run(step.output, step.arguments...); err != nil {
			return "", err
		}
	}
	if err := o.images("images/cluster-network-operator", "e2e/networks/toy"); err != nil {
		return "", err
	}
	return o.dir, addImage(filepath.Join(o.dir, "config/default/kustomization.yaml"))
}

// addImage sets the operator's variable for the network's image.
func addImage(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "  - TOY_IMAGE=localhost/cno/toy:%s\n", version.Default)
	return err
}
