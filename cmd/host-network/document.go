package main

import (
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/internal/dayone/automatic"
	"github.com/cluster-network-operator/cno/internal/dayone/hostdocument"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/policy"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// resolve reads a document, with captures or without, for this host.
func resolve(name string, data []byte, live livestate.State) (*nmstate.Document, error) {
	p, problems := policy.Parse(name, data)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	state, err := policy.StateOf(hostdocument.Running(live))
	if err != nil {
		return nil, err
	}
	doc, problems := p.Resolve(state)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return livestate.Concrete(doc, live)
}

// automatic returns a document for a host without one.
func (h *host) automatic(live livestate.State) (*nmstate.Document, error) {
	hints, err := automatic.ReadHints(os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	made, err := automatic.Generate(live, hints)
	if err != nil {
		return nil, err
	}
	for _, warning := range made.Warnings {
		h.engine.Log.Warn(warning)
	}
	h.engine.Log.Info("no document; br-ex is created automatically", "over", made.Uplink, "because", made.Why)
	h.uplink = made.Uplink
	return made.Document, nil
}

// rememberUplink stores the interface for the next boot, so that a host with several default routes does not change.
func (h *host) rememberUplink() error {
	path := "/" + automatic.StoredFile
	if data, err := os.ReadFile(path); h.uplink == "" || err == nil && string(data) == h.uplink+"\n" {
		return nil
	}
	if err := durable.WriteFile(path, []byte(h.uplink+"\n"), 0o644); err != nil {
		return fmt.Errorf("store the interface under br-ex: %w", err)
	}
	return nil
}
