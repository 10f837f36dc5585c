package node

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/knftables"
)

// chain is an nftables chain. A chain without a hook is the target of jumps. device is the interface of a chain of the ingress hook.
type chain struct {
	name     string
	kind     knftables.BaseChainType
	hook     knftables.BaseChainHook
	priority knftables.BaseChainPriority
	device   string
	rules    []string
}

// collection is a set, or a map if isMap is true.
type collection struct {
	name, kind string
	isMap      bool
	flags      []knftables.SetFlag
	elements   []element
	// timeout and size are the lifetime and the maximum number of elements that rules add; 0 if only the agent adds elements.
	timeout time.Duration
	size    uint64
}

// element is an element of a collection; value is set in maps. Both may have several parts.
type element struct{ key, value []string }

// nftTable is an nftables table that the agent owns.
type nftTable struct {
	family      knftables.Family
	name        string
	counters    []string
	collections []collection
	chains      []chain
	// recreate replaces the table itself, not only its content: a chain of a replaced interface cannot be reused.
	recreate bool
	// owners are the owners of chains that can be closed if the kernel refuses their rules, by the name of the chain.
	owners map[string]string
}

// title returns the name of the table in nft's notation.
func (t nftTable) title() string { return fmt.Sprintf("table %s %s", t.family, t.name) }

// text returns a deterministic representation of the table.
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

// apply replaces the table atomically.
func (t nftTable) apply(ctx context.Context) error {
	return t.write(ctx, knftables.Interface.Run)
}

// check returns the error that apply would return, and changes nothing.
func (t nftTable) check(ctx context.Context) error {
	return t.write(ctx, knftables.Interface.Check)
}

func (t nftTable) write(ctx context.Context, run func(knftables.Interface, context.Context, *knftables.Transaction) error) error {
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
	// Elements of maps refer to chains, so chains come first.
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
	if err := run(nft, ctx, tx); err != nil {
		return fmt.Errorf("write the rules of %s: %w", t.title(), err)
	}
	return nil
}

// closing returns the table with chains that drop everything.
func (t nftTable) closing(names map[string]bool) nftTable {
	t.chains = slices.Clone(t.chains)
	for i, c := range t.chains {
		if names[c.name] {
			t.chains[i].rules = []string{"drop"}
		}
	}
	return t
}

// refused returns the chains with owners whose rules the kernel refuses, with the errors. It changes nothing.
func (t nftTable) refused(ctx context.Context) (map[string]error, error) {
	owned := slices.Sorted(maps.Keys(t.owners))
	// check tries the table with some of the chains, and all others closed.
	check := func(open []string) error {
		names := map[string]bool{}
		for _, name := range owned {
			names[name] = !slices.Contains(open, name)
		}
		return t.closing(names).check(ctx)
	}
	if err := check(nil); err != nil {
		return nil, err
	}
	out := map[string]error{}
	var search func([]string)
	search = func(names []string) {
		if len(names) == 0 {
			return
		}
		err := check(names)
		switch {
		case err == nil:
		case len(names) == 1:
			out[names[0]] = err
		default:
			search(names[:len(names)/2])
			search(names[len(names)/2:])
		}
	}
	search(owned)
	return out, nil
}

// removeTable removes a table if it exists.
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

// managedTable keeps the kernel's table in the last desired state. Only one goroutine may call ensure.
type managedTable struct {
	mu sync.Mutex
	// desired is the last written table, recorded is its content as the kernel listed it afterwards.
	desired, recorded string
}

// ensure writes the table if it differs from the last one, or if a third party has changed it; restored is true in the latter case.
func (k *managedTable) ensure(ctx context.Context, t nftTable) (restored bool, err error) {
	live, err := listTable(ctx, t.family, t.name)
	if err != nil {
		return false, err
	}
	text := t.text()
	desired, recorded := k.last()
	if text == desired && live == recorded {
		return false, nil
	}
	restored = text == desired && recorded != ""
	if err := t.apply(ctx); err != nil {
		return restored, err
	}
	listed, err := listTable(ctx, t.family, t.name)
	if err == nil {
		err = t.checkListed(listed)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.desired, k.recorded = "", "" // unverified content is written again
		return restored, err
	}
	k.desired, k.recorded = text, listed
	return restored, nil
}

// modified reports whether a third party has changed a table that was written outside of ensure, recorded, and is still desired.
func (k *managedTable) modified(ctx context.Context, t nftTable) (changed bool, err error) {
	desired, recorded := k.last()
	if desired != t.text() {
		return false, nil
	}
	live, err := listTable(ctx, t.family, t.name)
	return live != recorded, err
}

// record records a table that was written outside of ensure, unless a third party has changed it already.
func (k *managedTable) record(ctx context.Context, t nftTable) error {
	live, err := listTable(ctx, t.family, t.name)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.desired, k.recorded = t.text(), live; err != nil || t.checkListed(live) != nil {
		k.desired, k.recorded = "", ""
	}
	return err
}

// last returns the last written table, and its content as the kernel listed it afterwards.
func (k *managedTable) last() (desired, recorded string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.desired, k.recorded
}

// volatile matches content that changes without a write: counters, and sets to which rules add elements.
var volatile = regexp.MustCompile(`packets \d+ bytes \d+|(?s:\tset [^{]*\{\n[^}]*?flags dynamic.*?\n\t\})`)

// listTable returns the content of a kernel table as nft prints it, without volatile content; empty if the table does not exist.
func listTable(ctx context.Context, family knftables.Family, name string) (string, error) {
	out, err := runNFT(ctx, "list", "table", string(family), name)
	if err != nil && strings.Contains(err.Error(), "No such file or directory") {
		return "", nil
	}
	return volatile.ReplaceAllString(out, ""), err
}

// runNFT runs nft and returns its output.
func runNFT(ctx context.Context, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nft", arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("nft %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
