package hostapply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/automatic"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// String returns a description for messages.
func (s Source) String() string {
	if s.Automatic {
		return "the automatic configuration"
	}
	return s.File
}

// choose returns the document of this host and its source. The hash is empty if there is no document.
func (e *Engine) choose(ctx context.Context, live livestate.State) (Source, []byte, error) {
	files, err := placement.ReadDir(e.Documents)
	if err != nil {
		return Source{}, nil, err
	}
	name, err := e.name(ctx, files)
	if err != nil {
		return Source{}, nil, err
	}
	choice, err := placement.Select(files, placement.Host{Name: name, MACs: macAddresses(live)})
	if err != nil {
		return Source{}, nil, err
	}
	for _, warning := range choice.Warnings {
		e.Log.Warn(warning)
	}
	if choice.Rule != placement.ByNone {
		e.Log.Info("document chosen", "file", choice.File.Name, "because", choice.Reason)
		return Source{File: choice.File.Name, Why: choice.Reason, SHA256: digest(choice.File.Content)}, choice.File.Content, nil
	}
	return e.automatic(ctx, choice.Reason, live)
}

// automatic generates the document of a host without one. It waits for an uplink up to Limits.Uplink.
func (e *Engine) automatic(ctx context.Context, why string, live livestate.State) (Source, []byte, error) {
	source := Source{Why: why, Automatic: true}
	if e.Automatic == nil {
		return source, nil, nil
	}
	doc, err := e.Automatic(live)
	for end := e.Now().Add(e.Limits.Uplink); errors.Is(err, automatic.ErrNoUplink) && e.Now().Before(end); {
		if err := e.Wait(ctx, e.Limits.Poll); err != nil {
			return source, nil, fmt.Errorf("wait for a default route: %w", err)
		}
		if live, err = e.Backend.Live(ctx); err == nil {
			doc, err = e.Automatic(live)
		}
	}
	if err != nil {
		return source, nil, fmt.Errorf("create the automatic configuration: %w", err)
	}
	content, err := doc.YAML()
	if err != nil {
		return source, nil, fmt.Errorf("write the automatic configuration: %w", err)
	}
	source.SHA256 = digest(content)
	return source, content, nil
}

// name returns the host's name. If the name can select a document, it waits for it up to Limits.Name; without a name, the document for all hosts is used.
func (e *Engine) name(ctx context.Context, files placement.Files) (string, error) {
	for end := e.Now().Add(e.Limits.Name); ; {
		name, err := e.Hostname()
		if err != nil {
			return "", fmt.Errorf("read host name: %w", err)
		}
		if !placement.Unnamed(name) || !placement.NeedsName(files) {
			return name, nil
		}
		if !e.Now().Before(end) {
			e.Log.Warn("the host still has no name; documents for single hosts are skipped", "name", name, "waited", e.Limits.Name)
			return name, nil
		}
		if err := e.Wait(ctx, e.Limits.Poll); err != nil {
			return "", fmt.Errorf("wait for a host name: %w", err)
		}
	}
}

// macAddresses returns the MAC addresses that can select a host's document.
func macAddresses(live livestate.State) []string {
	var macs []string
	for _, l := range live.Links {
		switch {
		case l.PermanentMAC != "":
			macs = append(macs, l.PermanentMAC)
		case (l.Kind == string(nmstate.TypeEthernet) || l.Kind == string(nmstate.TypeVeth)) && l.MAC != "":
			macs = append(macs, l.MAC)
		}
	}
	return macs
}

// resolve returns the document with captures resolved. For content that was applied before, it returns the earlier result: a capture of the default
// route's interface would now find br-ex.
func (e *Engine) resolve(s state, source Source, content []byte, live livestate.State) ([]byte, error) {
	if source.Automatic {
		return content, nil
	}
	if s.Applied != nil && s.Applied.Source.SHA256 == source.SHA256 {
		return s.Applied.Document, nil
	}
	doc, err := e.Resolve(source.File, content, live)
	if err != nil {
		return nil, err
	}
	resolved, err := doc.YAML()
	if err != nil {
		return nil, fmt.Errorf("write resolved document: %w", err)
	}
	return resolved, nil
}

// unchanged reports whether the same content was applied, in this boot if it is volatile, and the network matches it.
func (e *Engine) unchanged(s state, source Source, change Change, now livestate.State) bool {
	if s.Applied == nil || s.Applied.Source.SHA256 != source.SHA256 || source.Automatic && s.Applied.Boot != e.Boot {
		return false
	}
	return len(livestate.Compare(change.Document, now)) == 0
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
