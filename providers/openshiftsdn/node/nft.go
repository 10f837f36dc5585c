package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/knftables"
)

// chain is a chain of rules; without a hook one to which others jump. device is the interface of a chain of the ingress hook.
type chain struct {
	name     string
	kind     knftables.BaseChainType
	hook     knftables.BaseChainHook
	priority knftables.BaseChainPriority
	device   string
	rules    []string
}

// collection is a set or, if isMap is true, a map.
type collection struct {
	name, kind string
	isMap      bool
	flags      []knftables.SetFlag
	elements   []element
	// timeout is how long elements stay that rules have added, size how many there are at most; 0 for what the agent alone fills.
	timeout time.Duration
	size    uint64
}

// element has a key and, in a map, a value; both may have several parts.
type element struct{ key, value []string }

// nftTable is a table of nftables that the agent owns.
type nftTable struct {
	family      knftables.Family
	name        string
	counters    []string
	collections []collection
	chains      []chain
	// recreate replaces the table itself too, not only its content: a chain of an interface that was replaced cannot be kept.
	recreate bool
}

// title names a table, as nft does.
func (t nftTable) title() string { return fmt.Sprintf("table %s %s", t.family, t.name) }

// text is the same for the same table.
func (t nftTable) text() string { return fmt.Sprintf("%+v", t) }

func (c chain) definition() *knftables.Chain {
	out := &knftables.Chain{Name: c.name}
	if c.hook != "" {
		out.Type, out.Hook, out.Priority = knftables.PtrTo(c.kind), knftables.PtrTo(c.hook), knftables.PtrTo(c.priority)
	}
	if c.device != "" {
		out.Device = knftables.PtrTo(c.device)
	}
	return out
}

func (c collection) definition() knftables.Object {
	if c.isMap {
		return &knftables.Map{Name: c.name, Type: c.kind, Flags: c.flags}
	}
	out := &knftables.Set{Name: c.name, Type: c.kind, Flags: c.flags}
	if c.timeout != 0 {
		out.Timeout, out.Size = knftables.PtrTo(c.timeout), knftables.PtrTo(c.size)
	}
	return out
}

// apply replaces the table, all at once.
func (t nftTable) apply(ctx context.Context) error {
	nft, err := knftables.New(t.family, t.name)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	if t.recreate {
		tx.Delete(&knftables.Table{})
		tx.Add(&knftables.Table{})
	}
	for _, name := range t.counters {
		tx.Add(&knftables.Counter{Name: name})
	}
	// Elements of maps name chains.
	for _, c := range t.chains {
		tx.Add(c.definition())
		tx.Flush(&knftables.Chain{Name: c.name})
	}
	for _, c := range t.collections {
		definition := c.definition()
		tx.Add(definition)
		if c.timeout != 0 {
			continue
		}
		tx.Flush(definition)
		for _, e := range c.elements {
			if c.isMap {
				tx.Add(&knftables.Element{Map: c.name, Key: e.key, Value: e.value})
			} else {
				tx.Add(&knftables.Element{Set: c.name, Key: e.key})
			}
		}
	}
	for _, c := range t.chains {
		for _, rule := range c.rules {
			tx.Add(&knftables.Rule{Chain: c.name, Rule: rule})
		}
	}
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("write the rules of %s: %w", t.title(), err)
	}
	return nil
}

// removeTable removes a table, if it exists.
func removeTable(ctx context.Context, family knftables.Family, name string) error {
	nft, err := knftables.New(family, name)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	return nft.Run(ctx, tx)
}

// keptTable keeps the kernel's table at what was desired last. One goroutine calls ensure.
type keptTable struct {
	mu sync.Mutex
	// wanted is what was written last, had what the kernel made of it.
	wanted, had string
}

// ensure makes the kernel have a table. It writes if the table is to be another one, or if a third party has changed it; restored reports the latter.
func (k *keptTable) ensure(ctx context.Context, t nftTable) (restored bool, err error) {
	have, err := inKernel(ctx, t.family, t.name)
	if err != nil {
		return false, err
	}
	text := t.text()
	wanted, had := k.written()
	if text == wanted && have == had {
		return false, nil
	}
	restored = text == wanted && had != ""
	if err := t.apply(ctx); err != nil {
		return restored, err
	}
	after, err := inKernel(ctx, t.family, t.name)
	if err == nil {
		err = t.lacking(after)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.wanted, k.had = "", "" // what is not known to be right is written again
		return restored, err
	}
	k.wanted, k.had = text, after
	return restored, nil
}

// written is what was written last, and what the kernel made of it.
func (k *keptTable) written() (wanted, had string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wanted, k.had
}

// passing is what changes in a table although no one writes it: counters, and sets that rules add to.
var passing = regexp.MustCompile(`packets \d+ bytes \d+|(?s:\tset [^{]*\{\n[^}]*?flags dynamic.*?\n\t\})`)

// inKernel is what the kernel has, as nft prints it, but for what packets change; empty if it has no such table.
func inKernel(ctx context.Context, family knftables.Family, name string) (string, error) {
	out, err := runNFT(ctx, "list", "table", string(family), name)
	if err != nil && strings.Contains(err.Error(), "No such file or directory") {
		return "", nil
	}
	return passing.ReplaceAllString(out, ""), err
}

// runNFT runs nft and returns what it prints.
func runNFT(ctx context.Context, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nft", arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("nft %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
