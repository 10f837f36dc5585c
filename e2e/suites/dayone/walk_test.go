package dayone

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2"
	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/suites/dayone/host"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/doctest"
)

// macs are the addresses of the cards of the two hosts of docs/day-one.md.
var macs = map[string]string{"master-0": "00:d7:a3:95:42:1f", "master-1": "00:d7:a3:95:42:23"}

// walk is docs/day-one.md on two hosts on one segment.
type walk struct {
	t       *testing.T
	dir     string
	segment *host.Segment
	hosts   map[string]*host.Host
}

// TestTwoBareHostsGetBrExAsDocumented executes docs/day-one.md except for the steps that need a cluster, which internal/cli/dayone
// executes.
func TestTwoBareHostsGetBrExAsDocumented(t *testing.T) {
	checkout, err := kit.New()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(checkout.Root, "docs", "day-one.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := doctest.Steps("docs/day-one.md", string(content))
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "cno"), "./cmd/cno")
	build.Dir = checkout.Root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := &walk{t: t, dir: t.TempDir(), segment: host.NewSegment(t, root, gateway+"/24", leases), hosts: map[string]*host.Host{}}
	err = doctest.Walk{
		Dir: w.dir, Env: []string{"PATH=" + programs + ":" + os.Getenv("PATH")}, Skip: []string{"cluster"},
		On: w.on, Elsewhere: w.elsewhere,
	}.Run(steps)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.hosts) != 2 {
		t.Errorf("%d hosts were booted", len(w.hosts))
	}
}

func (w *walk) on(where, script string) (string, error) {
	h, ok := w.hosts[where]
	if !ok {
		return "", fmt.Errorf("host %s has not been booted", where)
	}
	return h.Try("sh", "-eu", "-c", "export PATH=$PATH:/usr/local/bin\n"+script)
}

// elsewhere does what the installer and the machine-config operator do.
func (w *walk) elsewhere(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("%v is not a verb, a host and a file", words)
	}
	content, err := os.ReadFile(filepath.Join(w.dir, words[2]))
	if err != nil {
		return err
	}
	switch words[0] {
	case "boot":
		return w.boot(words[1], content)
	case "deliver":
		return w.deliver(words[1], content)
	}
	return fmt.Errorf("%q is not a known step", words[0])
}

// boot puts the files of an Ignition configuration on a new host's disk, and boots it.
func (w *walk) boot(name string, ignition []byte) error {
	config, report, err := v3_2.Parse(ignition)
	if err != nil {
		return fmt.Errorf("read Ignition configuration: %w (%s)", err, report.String())
	}
	h := host.New(w.t, root, name)
	h.Plug(w.segment, card, "cable-"+name, macs[name])
	h.Boot()
	for _, file := range config.Storage.Files {
		content, err := machineconfig.DecodeSource(*file.Contents.Source)
		if err != nil {
			return err
		}
		h.Write(file.Path, string(content), os.FileMode(*file.Mode))
	}
	program, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	h.Write("/usr/local/bin/host-network", string(program), 0o755)
	h.StartBus()
	h.StartSwitch()
	h.StartManager(true)
	w.hosts[name] = h
	(&scene{Host: h, t: w.t}).reaches()
	return nil
}

// deliver writes the files of a MachineConfig to a host.
func (w *walk) deliver(name string, object []byte) error {
	plain, err := yaml.YAMLToJSON(object)
	if err != nil {
		return err
	}
	var config mcfgv1.MachineConfig
	if err := json.Unmarshal(plain, &config); err != nil {
		return err
	}
	roles, err := machineconfig.Unpack([]mcfgv1.MachineConfig{config})
	if err != nil {
		return err
	}
	for _, file := range roles["master"] {
		w.hosts[name].Write(placement.Dir+"/"+file.Name, string(file.Content), 0o644)
	}
	return nil
}
