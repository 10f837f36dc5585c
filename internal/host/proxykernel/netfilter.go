package proxykernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// family is an IP family with its number in netfilter.
type family struct {
	name   string
	number byte
}

// Attributes of linux/netfilter/nf_tables_compat.h, which golang.org/x/sys does not have.
const (
	compatSubsystem = 11 // NFNL_SUBSYS_NFT_COMPAT
	compatGet       = 0  // NFNL_MSG_COMPAT_GET
	compatName      = 1  // NFTA_COMPAT_NAME
	compatRevision  = 2  // NFTA_COMPAT_REV
	compatType      = 3  // NFTA_COMPAT_TYPE
)

// Socket options of linux/netfilter_ipv4/ip_tables.h and linux/netfilter_ipv6/ip6_tables.h.
const (
	getInfo  = 64 // IPT_SO_GET_INFO, IP6T_SO_GET_INFO
	infoSize = 84 // sizeof(struct ipt_getinfo)
)

// expressions are the expressions of kube-proxy's rules in nftables mode that may be modules, with the name nft_<expression>.
var expressions = []string{"ct", "nat", "masq", "fib", "numgen", "reject"}

// matches and targets are the extensions of kube-proxy's rules in iptables mode, whose modules have the name xt_<extension>.
var (
	matches = []string{"addrtype", "comment", "conntrack", "mark", "statistic"}
	targets = []string{"MARK", "MASQUERADE", "DNAT", "REJECT"}
)

// netfilter is a netlink socket in the network namespace in which it was opened.
type netfilter struct {
	fd int
	// tables is the number of test tables.
	tables int
}

func openNetfilter() (*netfilter, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("the kernel has no netlink for netfilter (module nfnetlink): %w", err)
	}
	// The kernel may load modules before it answers.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 60}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set the receive timeout of netfilter: %w", err)
	}
	return &netfilter{fd: fd}, nil
}

func (n *netfilter) close() { unix.Close(n.fd) }

// nftables returns the missing features of mode nftables.
func (n *netfilter) nftables(f family) ([]string, error) {
	if err := n.rule(f, ""); absent(err) {
		return []string{fmt.Sprintf("nftables with NAT for %s (modules nf_tables, nft_chain_nat, nf_nat)", f.name)}, nil
	} else if err != nil {
		return nil, fmt.Errorf("try a table of nftables for %s: %w", f.name, err)
	}
	var missing []string
	for _, e := range expressions {
		// An existing expression is accepted, or refused as invalid because its attributes are missing.
		if err := n.rule(f, e); absent(err) {
			missing = append(missing, "nft_"+e)
		}
	}
	return modules(f, missing), nil
}

// iptables returns the missing features of the modes iptables and ipvs. It accepts either the front end of nftables, or the older ip_tables.
func (n *netfilter) iptables(f family) ([]string, error) {
	err := n.rule(f, "")
	if err != nil && !absent(err) {
		return nil, fmt.Errorf("try a table of nftables for %s: %w", f.name, err)
	}
	if err != nil || errors.Is(extension(f, matches[0], 0), unix.EINVAL) { // the number of the subsystem is unknown without nft_compat
		if n.legacy(f) == nil {
			return nil, nil
		}
		return []string{fmt.Sprintf("iptables with NAT for %s (modules nf_tables, nft_compat, nft_chain_nat)", f.name)}, nil
	}
	var missing []string
	for kind, names := range [][]string{matches, targets} {
		for _, name := range names {
			// An existing extension of another revision has another error.
			if errors.Is(extension(f, name, kind), unix.ENOENT) {
				missing = append(missing, "xt_"+name)
			}
		}
	}
	return modules(f, missing), nil
}

func modules(f family, missing []string) []string {
	if len(missing) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("modules for %s (%s)", f.name, strings.Join(missing, ", "))}
}

// absent reports whether an error means that the kernel lacks the requested feature.
func absent(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.ENOPROTOOPT}, func(e error) bool { return errors.Is(err, e) })
}

// rule creates a table with a chain for NAT, and a rule with an expression unless it is empty, in one transaction.
func (n *netfilter) rule(f family, expression string) error {
	// A successful transaction is committed until the network namespace ends, so each transaction has a separate table.
	n.tables++
	table := nl.ZeroTerminated(fmt.Sprintf("check-%d", n.tables))
	hook := nl.NewRtAttr(unix.NFTA_CHAIN_HOOK|unix.NLA_F_NESTED, nil)
	hook.AddRtAttr(unix.NFTA_HOOK_HOOKNUM, nl.BEUint32Attr(unix.NF_INET_POST_ROUTING))
	hook.AddRtAttr(unix.NFTA_HOOK_PRIORITY, nl.BEUint32Attr(100))
	chain := nl.ZeroTerminated("postrouting")
	steps := []*nl.NetlinkRequest{
		step(unix.NFT_MSG_NEWTABLE, f, nl.NewRtAttr(unix.NFTA_TABLE_NAME, table)),
		step(unix.NFT_MSG_NEWCHAIN, f, nl.NewRtAttr(unix.NFTA_CHAIN_TABLE, table), nl.NewRtAttr(unix.NFTA_CHAIN_NAME, chain),
			hook, nl.NewRtAttr(unix.NFTA_CHAIN_TYPE, nl.ZeroTerminated("nat"))),
	}
	if expression != "" {
		list := nl.NewRtAttr(unix.NFTA_RULE_EXPRESSIONS|unix.NLA_F_NESTED, nil)
		list.AddRtAttr(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, nil).AddRtAttr(unix.NFTA_EXPR_NAME, nl.ZeroTerminated(expression))
		steps = append(steps, step(unix.NFT_MSG_NEWRULE, f, nl.NewRtAttr(unix.NFTA_RULE_TABLE, table), nl.NewRtAttr(unix.NFTA_RULE_CHAIN, chain), list))
	}
	batch := batchMessage(unix.NFNL_MSG_BATCH_BEGIN)
	for _, s := range steps {
		batch = append(batch, s.Serialize()...)
	}
	return n.exchange(append(batch, batchMessage(unix.NFNL_MSG_BATCH_END)...), len(steps))
}

// step is one request of a transaction.
func step(kind int, f family, attributes ...*nl.RtAttr) *nl.NetlinkRequest {
	return request(unix.NFNL_SUBSYS_NFTABLES<<8|kind, unix.NLM_F_CREATE|unix.NLM_F_ACK, nl.Nfgenmsg{NfgenFamily: f.number}, attributes...)
}

// batchMessage returns the message that begins or ends a transaction.
func batchMessage(kind int) []byte {
	return request(kind, 0, nl.Nfgenmsg{ResId: nl.Swap16(unix.NFNL_SUBSYS_NFTABLES)}).Serialize()
}

// request returns a request with an nfnetlink header of version 0.
func request(kind, flags int, header nl.Nfgenmsg, attributes ...*nl.RtAttr) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.AddData(&header)
	for _, a := range attributes {
		r.AddData(a)
	}
	return r
}

// extension requests a match (kind 0) or a target (kind 1) of iptables, as the front end of nftables does.
func extension(f family, name string, kind int) error {
	_, err := request(compatSubsystem<<8|compatGet, unix.NLM_F_ACK, nl.Nfgenmsg{NfgenFamily: f.number}, nl.NewRtAttr(compatName, nl.ZeroTerminated(name)),
		nl.NewRtAttr(compatRevision, nl.BEUint32Attr(0)), nl.NewRtAttr(compatType, nl.BEUint32Attr(uint32(kind)))).Execute(unix.NETLINK_NETFILTER, 0)
	return err
}

// legacy requests the table nat of the older ip_tables.
func (n *netfilter) legacy(f family) error {
	domain, level := unix.AF_INET, unix.SOL_IP
	if f.number == unix.NFPROTO_IPV6 {
		domain, level = unix.AF_INET6, unix.SOL_IPV6
	}
	fd, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var info [infoSize]byte
	copy(info[:], "nat")
	size := uint32(len(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), getInfo, uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// exchange sends a transaction and reads the acknowledgements of its requests. It returns the first error among them.
func (n *netfilter) exchange(requests []byte, expected int) error {
	if err := unix.Sendto(n.fd, requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send to netfilter: %w", err)
	}
	buffer := make([]byte, 1<<16)
	for expected > 0 {
		size, _, err := unix.Recvfrom(n.fd, buffer, 0)
		if err != nil {
			return fmt.Errorf("receive from netfilter: %w", err)
		}
		for data := buffer[:size]; len(data) >= unix.NLMSG_HDRLEN; {
			length := int(binary.NativeEndian.Uint32(data))
			if length < unix.NLMSG_HDRLEN || length > len(data) {
				return errors.New("receive from netfilter: a message has an invalid length")
			}
			if kind := binary.NativeEndian.Uint16(data[4:]); kind == unix.NLMSG_ERROR && length >= unix.NLMSG_HDRLEN+4 {
				if code := int32(binary.NativeEndian.Uint32(data[unix.NLMSG_HDRLEN:])); code != 0 {
					return n.drain(unix.Errno(-code))
				}
				expected--
			}
			data = data[min((length+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1), len(data)):]
		}
	}
	return nil
}

// drain discards the responses that follow an error, so that they are not taken for responses to the next request. The kernel has processed the whole
// batch when the send returns.
func (n *netfilter) drain(err error) error {
	buffer := make([]byte, 1<<16)
	for {
		if _, _, e := unix.Recvfrom(n.fd, buffer, unix.MSG_DONTWAIT); e != nil {
			return err
		}
	}
}
