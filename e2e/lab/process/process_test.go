package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpawnedProcessIsFoundAndKilled(t *testing.T) {
	dir := t.TempDir()
	p, err := Spawn(Command{Program: "/bin/sh", Args: []string{"-c", "echo hello; exec sleep 1000"}, Log: filepath.Join(dir, "logs", "log")})
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(dir, "record")
	if err := p.Save(record); err != nil {
		t.Fatal(err)
	}
	found, err := Load(record)
	if err != nil {
		t.Fatal(err)
	}
	if found != p || !found.Alive() {
		t.Fatalf("recorded %+v, found %+v, alive: %t", p, found, found.Alive())
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found.Alive() {
		t.Error("it lives on")
	}
	if err := found.Kill(t.Context()); err != nil {
		t.Errorf("killing a process that has ended: %v", err)
	}
}

func TestAnotherProcessWithTheSamePIDIsNotKilled(t *testing.T) {
	self, err := Find(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Process){
		"it started at another time": func(p *Process) { p.Start++ },
		"it is of another boot":      func(p *Process) { p.Boot = "another" },
	} {
		other := self
		change(&other)
		if other.Alive() {
			t.Errorf("%s: taken for the same process", name)
		}
		// The test would not survive a mistake here.
		if err := other.Kill(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissingRecordIsNoProcess(t *testing.T) {
	p, err := Load(filepath.Join(t.TempDir(), "missing"))
	if err != nil || p.Alive() {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestStartTime(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	for name, stat := range map[string]string{
		"plain":                          "7 (sleep)" + tail,
		"a name with spaces":             "7 (my program)" + tail,
		"a name that looks like the end": "7 (a) S 1 (b)" + tail,
	} {
		if got, err := startTime(stat); err != nil || got != 4711 {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	for _, stat := range []string{"", "7 (sleep)", "7 (sleep) S 1 2"} {
		if _, err := startTime(stat); err == nil {
			t.Errorf("%q was understood", stat)
		}
	}
}

func TestNamespacePIDs(t *testing.T) {
	tests := map[string]struct {
		status string
		want   []int
	}{
		"outside":                {"Name:\tx\nNSpid:\t7\n", []int{7}},
		"one namespace in":       {"NSpid:\t700\t1\n", []int{700, 1}},
		"without the line":       {"Name:\tx\n", nil},
		"nothing understandable": {"NSpid:\tx\n", nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, namespacePIDs(tt.status)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
