package networkmanager

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// ErrNoSwitch is the answer to a document with Open vSwitch in it on a host that has none.
var ErrNoSwitch = errors.New("the document has something of Open vSwitch, which does not run on this host: install it, and start it before this program")

// bridgesThen are Open vSwitch's bridges at the time of a snapshot.
type bridgesThen struct {
	ovsbridge.Contents
	// Affected are the bridges that the document is about, whether they were there or not.
	Affected []string `json:"affected"`
}

// hasBridges reports whether a document has interfaces that only Open vSwitch can make.
func hasBridges(doc *nmstate.Document) bool {
	for _, i := range doc.Interfaces {
		if k := i.Kind(); k == nmstate.TypeOVSBridge || k == nmstate.TypeOVSInterface {
			return true
		}
	}
	return false
}

// usesOVS reports whether a document has anything of Open vSwitch, be it only a key of its database.
func usesOVS(doc *nmstate.Document) bool {
	wanted := livestate.SwitchWanted(doc)
	return hasBridges(doc) || len(wanted.ExternalIDs) > 0 || len(wanted.OtherConfig) > 0
}

func (b *Backend) bridgesThen(ctx context.Context, doc *nmstate.Document) (*bridgesThen, error) {
	if !usesOVS(doc) {
		return nil, nil
	}
	contents, err := b.OVS.Read(ctx)
	if errors.Is(err, ovsbridge.ErrAbsent) {
		return nil, ErrNoSwitch
	}
	if err != nil {
		return nil, fmt.Errorf("read Open vSwitch's bridges: %w", err)
	}
	return &bridgesThen{Contents: contents, Affected: ovsbridge.Affected(contents.Bridges, doc)}, nil
}

// ensureBridges makes the database what the document wants: all of it, or, where NetworkManager makes the bridges, only what
// no profile can hold.
func (b *Backend) ensureBridges(ctx context.Context, doc *nmstate.Document, all bool) error {
	if !usesOVS(doc) {
		return nil
	}
	change := ovsbridge.Wanted(doc)
	if !all {
		change.Bridges, change.Absent = nil, nil
	}
	b.Log.Debug("set up bridges")
	err := b.OVS.Ensure(ctx, change)
	if errors.Is(err, ovsbridge.ErrAbsent) {
		return ErrNoSwitch
	}
	if err != nil {
		return fmt.Errorf("set up Open vSwitch: %w", err)
	}
	return nil
}

// restoreBridges brings the bridges back. Where Open vSwitch does not run now, nothing of it forwards packets.
func (b *Backend) restoreBridges(ctx context.Context, doc *nmstate.Document, then *bridgesThen) error {
	if then == nil {
		return nil
	}
	b.Log.Debug("restore bridges")
	err := b.OVS.Ensure(ctx, ovsbridge.Undo(then.Contents, then.Affected, doc))
	if err != nil && !errors.Is(err, ovsbridge.ErrAbsent) {
		return fmt.Errorf("restore Open vSwitch's bridges: %w", err)
	}
	return nil
}
