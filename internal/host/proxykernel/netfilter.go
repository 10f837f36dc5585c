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

// expressions are those of kube-proxy's rules in nftables mode that may be modules; each module has the name nft_<expression>.
var expressions = []string{"ct", "nat", "masq", "fib", "numgen", "reject"}

// matches and targets are those of kube-proxy's rules in iptables mode; each module has the name xt_<extension>.
var (
	matches = []string{"addrtype", "comment", "conntrack", "mark", "statistic"}
	targets = []string{"MARK", "MASQUERADE", "DNAT", "REJECT"}
)

// netfilter is a netlink socket in the network namespace in which it was opened.
type netfilter struct {
	fd int
	// tables is the number of tables that were tried.
	tables int
}

func openNetfilter() (*netfilter, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("the kernel has no netlink for netfilter (module nfnetlink): %w", err)
	}
	// The kernel loads modules while it handles a request, so that the answer may take a while.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 60}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("limit the time of answers from netfilter: %w", err)
	}
	return &netfilter{fd: fd}, nil
}

func (n *netfilter) close() { unix.Close(n.fd) }

// nftables lists what mode nftables does not find.
func (n *netfilter) nftables(f family) ([]string, error) {
	if err := n.rule(f, ""); absent(err) {
		return []string{fmt.Sprintf("nftables with NAT for %s (modules nf_tables, nft_chain_nat, nf_nat)", f.name)}, nil
	} else if err != nil {
		return nil, fmt.Errorf("try a table of nftables for %s: %w", f.name, err)
	}
	var without []string
	for _, e := range expressions {
		// An expression that the kernel has needs attributes: it is refused as invalid, or needs none and is accepted.
		if err := n.rule(f, e); absent(err) {
			without = append(without, "nft_"+e)
		}
	}
	return modules(f, without), nil
}

// iptables lists what the rules of the modes iptables and ipvs do not find. iptables is one of two: a front end of nftables, or the older
// ip_tables; one of them is enough.
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
	var without []string
	for kind, names := range [][]string{matches, targets} {
		for _, name := range names {
			// Another revision than the one that is asked for has another error.
			if errors.Is(extension(f, name, kind), unix.ENOENT) {
				without = append(without, "xt_"+name)
			}
		}
	}
	return modules(f, without), nil
}

func modules(f family, without []string) []string {
	if len(without) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("modules for %s (%s)", f.name, strings.Join(without, ", "))}
}

// absent reports whether the kernel does not know what a request names. Other errors are of requests that it understands.
func absent(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.ENOPROTOOPT}, func(e error) bool { return errors.Is(err, e) })
}

// rule creates a table with a chain for NAT, and in it a rule with one expression, if one is named, all in one transaction.
func (n *netfilter) rule(f family, expression string) error {
	// The kernel commits a transaction without an error only. What it commits ends with the network namespace, but the next
	// transaction would find it: so each has a table of its own.
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
	batch := bracket(unix.NFNL_MSG_BATCH_BEGIN)
	for _, s := range steps {
		batch = append(batch, s.Serialize()...)
	}
	return n.exchange(append(batch, bracket(unix.NFNL_MSG_BATCH_END)...), len(steps))
}

// step is one request of a transaction.
func step(kind int, f family, attributes ...*nl.RtAttr) *nl.NetlinkRequest {
	return request(unix.NFNL_SUBSYS_NFTABLES<<8|kind, unix.NLM_F_CREATE|unix.NLM_F_ACK, nl.Nfgenmsg{NfgenFamily: f.number}, attributes...)
}

// bracket begins or ends a transaction.
func bracket(kind int) []byte {
	return request(kind, 0, nl.Nfgenmsg{ResId: nl.Swap16(unix.NFNL_SUBSYS_NFTABLES)}).Serialize()
}

// request is a request with the header of nfnetlink, whose version is 0.
func request(kind, flags int, header nl.Nfgenmsg, attributes ...*nl.RtAttr) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.AddData(&header)
	for _, a := range attributes {
		r.AddData(a)
	}
	return r
}

// extension asks for a match (kind 0) or a target (kind 1) of iptables, as the front end of nftables does.
func extension(f family, name string, kind int) error {
	_, err := request(compatSubsystem<<8|compatGet, unix.NLM_F_ACK, nl.Nfgenmsg{NfgenFamily: f.number}, nl.NewRtAttr(compatName, nl.ZeroTerminated(name)),
		nl.NewRtAttr(compatRevision, nl.BEUint32Attr(0)), nl.NewRtAttr(compatType, nl.BEUint32Attr(uint32(kind)))).Execute(unix.NETLINK_NETFILTER, 0)
	return err
}

// legacy asks for the table nat of the older ip_tables.
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

// drain drops what the kernel sent behind an error, so that it does not count as the answer to the next request. The kernel has handled all
// of a batch before sending one returns.
func (n *netfilter) drain(err error) error {
	buffer := make([]byte, 1<<16)
	for {
		if _, _, e := unix.Recvfrom(n.fd, buffer, unix.MSG_DONTWAIT); e != nil {
			return err
		}
	}
}
