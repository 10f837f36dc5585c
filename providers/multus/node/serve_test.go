package node

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
)

func TestAPanicIsTheErrorOfItsRequest(t *testing.T) {
	var log bytes.Buffer
	s := server{do: func(context.Context, cniproto.Request) (json.RawMessage, error) { panic("boom") }, log: slog.New(slog.NewTextHandler(&log, nil))}
	_, err := s.execute(t.Context(), cniproto.Request{Version: cniproto.Version})
	if err == nil || !strings.Contains(err.Error(), "panic: boom") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "serve_test.go") {
		t.Errorf("no stack in the log: %s", log.String())
	}
}

func TestOnlyChangedDefinitionsAreParsedAgain(t *testing.T) {
	d := definitionOf("ns", "a", macvlan)
	d.SetResourceVersion("1")
	f := newFixture(t, nil)
	checked := func(object any) map[string]finding.Checked {
		t.Helper()
		if err := f.objects.defs.Add(object); err != nil {
			t.Fatal(err)
		}
		return f.objects.checked(f.Log)
	}
	first := checked(d)["ns/a"]
	same := definitionOf("ns", "a", `{"type":"tap"}`)
	same.SetResourceVersion("1")
	if got := checked(same)["ns/a"]; cmp.Diff(first, got) != "" || got.Type != "macvlan" {
		t.Errorf("the same version is parsed again: %+v", got)
	}
	same.SetResourceVersion("2")
	if got := checked(same)["ns/a"]; got.Type != "tap" {
		t.Errorf("a new version: %+v", got)
	}
}
