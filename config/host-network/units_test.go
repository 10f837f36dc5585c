package hostnetwork

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

// unit is a unit file: the words after each "Section.Key", of all its lines.
type unit map[string][]string

func read(t *testing.T, name string) unit {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		} else if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			u[section+"."+key] = append(u[section+"."+key], strings.Fields(value)...)
		}
	}
	return u
}

func TestHostNetworkRunsBetweenTheDaemonsAndKubernetes(t *testing.T) {
	u := read(t, "host-network.service")
	for key, want := range map[string][]string{
		"Unit.After": {
			"NetworkManager.service", "NetworkManager-wait-online.service", "openvswitch.service", "openvswitch-switch.service",
			"nodeip-configuration.service", "firstboot-osupdate.target", "kdump.service",
		},
		"Unit.Before": {
			"ovs-configuration.service", "nmstate.service", "network-online.target", "kubelet-dependencies.target",
			"crio.service", "containerd.service", "kubelet.service", "node-valid-hostname.service", "wait-for-br-ex-up.service",
		},
		// A failure stops Kubernetes from starting, and is on the console.
		"Install.RequiredBy":     {"kubelet-dependencies.target", "kubelet.service"},
		"Unit.OnFailure":         {"host-network-rollback.service"},
		"Service.StandardOutput": {"journal+console"},
		"Service.Restart":        {"on-failure"},
	} {
		for _, w := range want {
			if !slices.Contains(u[key], w) {
				t.Errorf("%s is %v, without %s", key, u[key], w)
			}
		}
	}
	for _, both := range u["Unit.After"] {
		if slices.Contains(u["Unit.Before"], both) {
			t.Errorf("the unit is both before and after %s", both)
		}
	}
}

// TestARequestStopsNothingAndIsNotRetried: the kubelet requires host-network.service, and stops with it.
func TestARequestStopsNothingAndIsNotRetried(t *testing.T) {
	u := read(t, "host-network-apply.service")
	for _, key := range []string{"Unit.Conflicts", "Unit.PropagatesStopTo", "Install.RequiredBy", "Install.WantedBy", "Service.RemainAfterExit"} {
		if len(u[key]) > 0 {
			t.Errorf("%s is %v", key, u[key])
		}
	}
	if !slices.Equal(u["Service.Restart"], []string{"no"}) || !slices.Contains(u["Service.ExecStart"], "apply") || !slices.Contains(u["Unit.OnFailure"], "host-network-rollback.service") {
		t.Errorf("the service is %v", u)
	}
	if p := read(t, "host-network-apply.path"); !slices.Equal(p["Path.PathChanged"], []string{"/run/host-network/apply/request.json"}) || len(p["Install.WantedBy"]) == 0 {
		t.Errorf("the path is %v", p)
	}
}

func TestSystemdWaitsLongerThanTheProgram(t *testing.T) {
	l := hostapply.DefaultLimits()
	for name, least := range map[string]time.Duration{
		"host-network.service":          l.Name + l.Apply + l.Verify + time.Duration(l.Tries)*l.Restore + l.Restore,
		"host-network-apply.service":    l.Name + l.Apply + l.Verify + time.Duration(l.Tries)*l.Restore + l.Restore,
		"host-network-rollback.service": time.Duration(l.Tries)*l.Restore + l.Restore,
	} {
		limit, err := time.ParseDuration(strings.Join(read(t, name)["Service.TimeoutStartSec"], "") + "s")
		if err != nil {
			t.Fatal(err)
		}
		if limit <= least {
			t.Errorf("%s is killed after %s, and may take %s", name, limit, least)
		}
	}
}

// TestUnitsAreValidForSystemd verifies the units with systemd itself.
func TestUnitsAreValidForSystemd(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "host-network")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("*.[sp][ea][rt]*")
	if err != nil || len(names) != 5 {
		t.Fatal(names, err)
	}
	copies := map[string]bool{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), "/usr/local/bin/host-network", program)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		copies[filepath.Join(dir, name)] = true
	}
	// All of them in one transaction with what every boot has, so that systemd looks for ordering cycles.
	boot := filepath.Join(dir, "everything.target")
	text := "[Unit]\nDefaultDependencies=no\nRequires=basic.target network-online.target " + strings.Join(names, " ") + "\n"
	if err := os.WriteFile(boot, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	copies[boot] = true
	args := append([]string{"verify"}, slices.Sorted(maps.Keys(copies))...)
	if out, err := exec.Command("systemd-analyze", args...).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
