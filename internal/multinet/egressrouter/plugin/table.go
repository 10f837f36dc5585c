package plugin

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// bufferSize is the size of the socket's buffers: a table is one message to the kernel, and the kernel acknowledges each part of it.
const bufferSize = 8 << 20

// connect opens a connection to nftables of the network namespace of the thread.
func connect() (*nftables.Conn, error) {
	conn, err := nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error {
		return errors.Join(c.SetWriteBuffer(bufferSize), c.SetReadBuffer(bufferSize))
	}))
	if err != nil {
		return nil, fmt.Errorf("connect to nftables: %w", err)
	}
	return conn, nil
}

// applyTable replaces a table in one transaction.
func applyTable(r egressrouter.Ruleset) error {
	conn, err := connect()
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftables.TableFamilyINet, Name: r.Table}
	// Deleting a table that does not exist is an error, and adding one that exists is not.
	conn.AddTable(table)
	conn.DelTable(table)
	conn.AddTable(table)
	for _, c := range r.Chains {
		chain := conn.AddChain(chainOf(table, c))
		for _, rule := range c.Rules {
			conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: expressions(rule)})
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("write nftables table %s: %w", r.Table, err)
	}
	return nil
}

func removeTable(name string) error {
	conn, err := connect()
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftables.TableFamilyINet, Name: name}
	conn.AddTable(table)
	conn.DelTable(table)
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("remove nftables table %s: %w", name, err)
	}
	return nil
}

// checkTable compares the kernel's table with the desired one.
func checkTable(want egressrouter.Ruleset) error {
	conn, err := connect()
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftables.TableFamilyINet, Name: want.Table}
	chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyINet)
	if err != nil {
		return fmt.Errorf("list nftables chains: %w", err)
	}
	live := map[string]*nftables.Chain{}
	for _, chain := range chains {
		if chain.Table.Name == want.Table {
			live[chain.Name] = chain
		}
	}
	for _, c := range want.Chains {
		chain := live[c.Name]
		if chain == nil {
			return errDiffers("nftables table %s has no chain %s", want.Table, c.Name)
		}
		if desired := chainOf(table, c); !sameChain(desired, chain) {
			return errDiffers("nftables chain %s of table %s has another type, hook, priority or policy", c.Name, want.Table)
		}
		rules, err := conn.GetRules(table, chain)
		if err != nil {
			return fmt.Errorf("list rules of nftables chain %s: %w", c.Name, err)
		}
		if err := checkRules(want.Table, c, rules); err != nil {
			return err
		}
	}
	if len(live) != len(want.Chains) {
		return errDiffers("nftables table %s has %d chains; must have %d", want.Table, len(live), len(want.Chains))
	}
	return nil
}

func sameChain(a, b *nftables.Chain) bool {
	return a.Type == b.Type && b.Hooknum != nil && *a.Hooknum == *b.Hooknum && b.Priority != nil && *a.Priority == *b.Priority && b.Policy != nil && *a.Policy == *b.Policy
}

func checkRules(table string, want egressrouter.Chain, live []*nftables.Rule) error {
	if len(live) != len(want.Rules) {
		return errDiffers("nftables chain %s of table %s has %d rules; must have %d", want.Name, table, len(live), len(want.Rules))
	}
	for i, rule := range want.Rules {
		if !reflect.DeepEqual(comparable(expressions(rule)), comparable(live[i].Exprs)) {
			return errDiffers("rule %d of nftables chain %s of table %s is not: %s", i+1, want.Name, table, rule)
		}
	}
	return nil
}

// comparable returns expressions without the fields that the kernel adds or the library does not read.
func comparable(all []expr.Any) []expr.Any {
	out := make([]expr.Any, 0, len(all))
	for _, e := range all {
		switch e := e.(type) {
		case *expr.Ct:
			out = append(out, &expr.Ct{Key: e.Key})
		case *expr.NAT:
			out = append(out, &expr.NAT{Type: e.Type, Family: e.Family, RegAddrMin: e.RegAddrMin, RegProtoMin: e.RegProtoMin})
		case *expr.Bitwise:
			out = append(out, &expr.Bitwise{Len: e.Len, Mask: e.Mask, Xor: e.Xor})
		default:
			out = append(out, e)
		}
	}
	return out
}

var hooks = map[string]*nftables.ChainHook{
	"prerouting": nftables.ChainHookPrerouting, "input": nftables.ChainHookInput, "forward": nftables.ChainHookForward,
	"output": nftables.ChainHookOutput, "postrouting": nftables.ChainHookPostrouting,
}

func chainOf(table *nftables.Table, c egressrouter.Chain) *nftables.Chain {
	return &nftables.Chain{
		Name: c.Name, Table: table, Type: nftables.ChainType(c.Type), Hooknum: hooks[c.Hook],
		Priority: nftables.ChainPriorityRef(nftables.ChainPriority(c.Priority)), Policy: new(nftables.ChainPolicyAccept),
	}
}

var protocolNumbers = map[egressrouter.Protocol]byte{egressrouter.TCP: unix.IPPROTO_TCP, egressrouter.UDP: unix.IPPROTO_UDP, egressrouter.SCTP: unix.IPPROTO_SCTP}

// Offsets in packet headers, and constants of conntrack.
const (
	destinationPort, destinationIPv4, destinationIPv6 = 2, 16, 24
	// ctStatusDNAT is IPS_DST_NAT.
	ctStatusDNAT = 1 << 5
	// ctReply is IP_CT_DIR_REPLY.
	ctReply = 1
)

// rule collects the expressions of one rule.
type rule []expr.Any

func (r *rule) add(e ...expr.Any) { *r = append(*r, e...) }

// equals compares the register with a value.
func (r *rule) equals(value []byte) { r.add(&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: value}) }

func (r *rule) meta(key expr.MetaKey, value []byte) {
	r.add(&expr.Meta{Key: key, Register: 1})
	r.equals(value)
}

func (r *rule) header(base expr.PayloadBase, offset uint32, value []byte) {
	r.add(&expr.Payload{OperationType: expr.PayloadLoad, DestRegister: 1, Base: base, Offset: offset, Len: uint32(len(value))})
	r.equals(value)
}

// bits matches if at least one of several bits is set.
func (r *rule) bits(key expr.CtKey, mask uint32) {
	zero := make([]byte, 4)
	r.add(&expr.Ct{Key: key, Register: 1}, &expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(mask), Xor: zero},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: zero})
}

func expressions(want egressrouter.Rule) []expr.Any {
	r := &rule{}
	if want.In != "" {
		r.meta(expr.MetaKeyIIFNAME, interfaceName(want.In))
	}
	if want.Out != "" {
		r.meta(expr.MetaKeyOIFNAME, interfaceName(want.Out))
	}
	if want.Family != "" {
		r.meta(expr.MetaKeyNFPROTO, []byte{protocolFamily(want.Family)})
	}
	if want.Local {
		r.add(&expr.Fib{Register: 1, ResultADDRTYPE: true, FlagDADDR: true})
		r.equals(binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL))
	}
	if want.New {
		r.bits(expr.CtKeySTATE, expr.CtStateBitNEW)
	}
	if want.Known {
		r.bits(expr.CtKeySTATE, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED)
	}
	if want.Reply {
		r.add(&expr.Ct{Key: expr.CtKeyDIRECTION, Register: 1})
		r.equals([]byte{ctReply})
	}
	if want.Redirected {
		r.bits(expr.CtKeySTATUS, ctStatusDNAT)
	}
	if want.To.IsValid() {
		offset := uint32(destinationIPv4)
		if want.To.Is6() {
			offset = destinationIPv6
		}
		r.header(expr.PayloadBaseNetworkHeader, offset, want.To.AsSlice())
	}
	if want.ICMPv6 != 0 {
		r.meta(expr.MetaKeyL4PROTO, []byte{unix.IPPROTO_ICMPV6})
		r.header(expr.PayloadBaseTransportHeader, 0, []byte{want.ICMPv6})
	}
	if want.Protocol != "" {
		r.meta(expr.MetaKeyL4PROTO, []byte{protocolNumbers[want.Protocol]})
	}
	if want.Port != 0 {
		r.header(expr.PayloadBaseTransportHeader, destinationPort, binaryutil.BigEndian.PutUint16(want.Port))
	}
	r.action(want)
	return *r
}

func (r *rule) action(want egressrouter.Rule) {
	switch want.Then {
	case egressrouter.Accept:
		r.add(&expr.Verdict{Kind: expr.VerdictAccept})
	case egressrouter.Drop:
		r.add(&expr.Verdict{Kind: expr.VerdictDrop})
	case egressrouter.Reject:
		r.add(&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED})
	case egressrouter.Reset:
		r.add(&expr.Reject{Type: unix.NFT_REJECT_TCP_RST})
	case egressrouter.MarkConnection:
		r.add(&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint32(egressrouter.Mark)}, &expr.Ct{Key: expr.CtKeyMARK, Register: 1, SourceRegister: true})
	case egressrouter.UseMark:
		r.add(&expr.Ct{Key: expr.CtKeyMARK, Register: 1}, &expr.Meta{Key: expr.MetaKeyMARK, Register: 1, SourceRegister: true})
	case egressrouter.Redirect:
		r.translate(expr.NATTypeDestNAT, want.Address)
	case egressrouter.Source:
		r.translate(expr.NATTypeSourceNAT, want.Address)
	}
}

func (r *rule) translate(kind expr.NATType, to netip.AddrPort) {
	nat := &expr.NAT{Type: kind, Family: uint32(protocolFamily(egressrouter.FamilyOf(to.Addr()))), RegAddrMin: 1}
	r.add(&expr.Immediate{Register: 1, Data: to.Addr().AsSlice()})
	if to.Port() != 0 {
		nat.RegProtoMin = 2
		r.add(&expr.Immediate{Register: 2, Data: binaryutil.BigEndian.PutUint16(to.Port())})
	}
	r.add(nat)
}

func protocolFamily(f egressrouter.Family) byte {
	if f == egressrouter.IPv4 {
		return unix.NFPROTO_IPV4
	}
	return unix.NFPROTO_IPV6
}

// interfaceName returns a name as rules compare it.
func interfaceName(name string) []byte {
	b := make([]byte, unix.IFNAMSIZ)
	copy(b, name)
	return b
}
