// Package kernel writes the rules of MultiNetworkPolicies to network namespaces of pods with nft, and detects changes by other programs.
package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"strconv"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/multinet/policy"
)

// ErrGone is the error of a network namespace that does not exist.
var ErrGone = errors.New("the network namespace no longer exists")

// Kernel writes tables. New creates it. It is safe for concurrent use.
type Kernel struct {
	// nft runs in the namespace of the calling thread, one transaction at a time.
	nft knftables.Interface
}

// New returns a kernel, or an error if nft is missing or unusable.
func New() (*Kernel, error) {
	nft, err := knftables.New(knftables.InetFamily, policy.Table)
	if err != nil {
		return nil, fmt.Errorf("use nftables: %w", err)
	}
	return &Kernel{nft: nft}, nil
}

// State identifies the kernel's rules. The zero value is the state of a namespace without the table, of unknown generation.
type State struct {
	// generation is the number of the namespace's last nftables transaction.
	generation uint32
	// content is a digest of the table; empty without a table.
	content string
}

// Apply replaces the table in one transaction, and returns the resulting state.
func (k *Kernel) Apply(ctx context.Context, netns string, rules policy.Ruleset) (State, error) {
	tx := k.nft.NewTransaction()
	// Deleting a table that does not exist is an error, and adding one that exists is not.
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	if !rules.Empty() {
		fill(tx, rules)
	}
	var state State
	err := within(netns, func() error {
		before, err := read()
		if err != nil {
			return err
		}
		if rules.Empty() && before.content == "" {
			state = before
			return nil
		}
		if err := k.nft.Run(ctx, tx); err != nil {
			return fmt.Errorf("write nftables table %s: %w", policy.Table, err)
		}
		if state, err = read(); err != nil {
			return err
		}
		if state.generation != before.generation+1 {
			return errors.New("another program changes nftables at the same time")
		}
		return nil
	})
	return state, err
}

// fill adds the table with its chains and rules to a transaction.
func fill(tx *knftables.Transaction, rules policy.Ruleset) {
	tx.Add(&knftables.Table{Comment: new("MultiNetworkPolicies of the pod; changes are undone")})
	for _, c := range rules.Chains {
		chain := &knftables.Chain{Name: c.Name}
		if c.Hook != "" {
			chain.Type, chain.Hook = new(knftables.FilterType), new(knftables.BaseChainHook(c.Hook))
			chain.Priority = new(knftables.BaseChainPriority(strconv.Itoa(c.Priority)))
		}
		tx.Add(chain)
	}
	for _, c := range rules.Chains {
		for _, rule := range c.Rules {
			tx.Add(&knftables.Rule{Chain: c.Name, Rule: rule})
		}
	}
}

// Check returns an error if the kernel does not accept rules; it changes nothing.
func (k *Kernel) Check(ctx context.Context, rules policy.Ruleset) error {
	tx := k.nft.NewTransaction()
	fill(tx, rules)
	return k.nft.Check(ctx, tx)
}

// Changed reports whether the table differs from that of a state, and returns the current state.
func (k *Kernel) Changed(netns string, last State) (changed bool, now State, err error) {
	err = within(netns, func() error {
		generation, err := generation()
		if err == nil && generation == last.generation {
			now = last
			return nil
		}
		now, err = read()
		return err
	})
	return err == nil && now.content != last.content, now, err
}

// within runs a function in a network namespace.
func within(netns string, do func() error) error {
	err := ns.WithNetNSPath(netns, func(ns.NetNS) error { return do() })
	var missing ns.NSPathNotExistErr
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &missing) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// read returns the state of the thread's namespace. It repeats if a transaction interferes.
func read() (State, error) {
	for range 10 {
		before, err := generation()
		if err != nil {
			return State{}, err
		}
		content, err := digest()
		if err != nil {
			return State{}, err
		}
		after, err := generation()
		if err != nil {
			return State{}, err
		}
		if before == after {
			return State{before, content}, nil
		}
	}
	return State{}, errors.New("read nftables: another program changes them all the time")
}

// request sends an nftables message, and returns the responses.
func request(kind uint16, flags netlink.HeaderFlags) ([]netlink.Message, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to nftables: %w", err)
	}
	defer func() { _ = conn.Close() }()
	// The header of netfilter messages is family, version and resource ID.
	answers, err := conn.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind), Flags: netlink.Request | flags},
		Data:   []byte{unix.NFPROTO_INET, unix.NFNETLINK_V0, 0, 0},
	})
	if err != nil {
		return nil, fmt.Errorf("read nftables: %w", err)
	}
	return answers, nil
}

const headerSize = 4

// generation returns the number of the last transaction.
func generation() (uint32, error) {
	answers, err := request(unix.NFT_MSG_GETGEN, 0)
	if err != nil {
		return 0, err
	}
	for _, m := range answers {
		d, err := netlink.NewAttributeDecoder(m.Data[min(headerSize, len(m.Data)):])
		if err != nil {
			return 0, fmt.Errorf("read the generation of nftables: %w", err)
		}
		d.ByteOrder = binary.BigEndian
		for d.Next() {
			if d.Type() == unix.NFTA_GEN_ID {
				return d.Uint32(), nil
			}
		}
	}
	return 0, errors.New("the kernel does not report the generation of nftables")
}

// digest returns a digest of the kernel's messages about the table, its chains and its rules with their sets; empty without a table.
func digest() (string, error) {
	sum, found := sha256.New(), false
	for _, part := range []struct {
		kind      uint16
		attribute uint16
	}{{unix.NFT_MSG_GETTABLE, unix.NFTA_TABLE_NAME}, {unix.NFT_MSG_GETCHAIN, unix.NFTA_CHAIN_TABLE}, {unix.NFT_MSG_GETRULE, unix.NFTA_RULE_TABLE}} {
		answers, err := request(part.kind, netlink.Dump)
		if err != nil {
			return "", err
		}
		one, err := add(sum, answers, part.attribute)
		if err != nil {
			return "", err
		}
		found = found || one
	}
	if !found {
		return "", nil
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// add adds the messages whose attribute names the table to a digest, and reports whether there are any.
func add(sum hash.Hash, messages []netlink.Message, attribute uint16) (found bool, err error) {
	for _, m := range messages {
		if len(m.Data) < headerSize || m.Data[0] != unix.NFPROTO_INET {
			continue
		}
		d, err := netlink.NewAttributeDecoder(m.Data[headerSize:])
		if err != nil {
			return false, fmt.Errorf("read nftables: %w", err)
		}
		for d.Next() {
			if d.Type() == attribute && d.String() == policy.Table {
				found = true
				// The resource ID in the header changes with the generation.
				_, _ = sum.Write(m.Data[headerSize:])
				break
			}
		}
	}
	return found, nil
}

// Remove removes the table.
func Remove(netns string) error {
	return within(netns, func() error {
		conn, err := nftables.New()
		if err != nil {
			return fmt.Errorf("connect to nftables: %w", err)
		}
		table := &nftables.Table{Family: nftables.TableFamilyINet, Name: policy.Table}
		conn.AddTable(table)
		conn.DelTable(table)
		if err := conn.Flush(); err != nil {
			return fmt.Errorf("remove nftables table %s: %w", policy.Table, err)
		}
		return nil
	})
}
