package proxykernel

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Numbers of linux/ip_vs.h.
const (
	ipvsFamily     = "IPVS"
	ipvsVersion    = 1
	ipvsNewService = 1
	ipvsService    = 1
	svcFamily      = 1
	svcProtocol    = 2
	svcAddress     = 3
	svcPort        = 4
	svcScheduler   = 6
	svcFlags       = 7
	svcTimeout     = 8
	svcNetmask     = 9
)

// sets are the types of sets that kube-proxy creates in ipvs mode.
var sets = []string{"hash:ip", "hash:ip,port", "hash:ip,port,ip", "hash:ip,port,net", "bitmap:port"}

// defaultScheduler is the default of kube-proxy.
const defaultScheduler = "rr"

// ipvs returns the missing features of mode ipvs, in addition to those of iptables.
func ipvs(scheduler string) ([]string, error) {
	if scheduler == "" {
		scheduler = defaultScheduler
	}
	var out []string
	if _, _, err := netlink.IpsetProtocol(); err != nil {
		out = append(out, fmt.Sprintf("IP sets (module ip_set; %v)", err))
	} else {
		var missing []string
		for i, kind := range sets {
			options := netlink.IpsetCreateOptions{}
			if kind == "bitmap:port" {
				options.PortFrom, options.PortTo = 0, 65535
			}
			if err := netlink.IpsetCreate(fmt.Sprintf("check-%d", i), kind, options); absentSet(err) {
				missing = append(missing, kind)
			}
		}
		if len(missing) > 0 {
			out = append(out, "types of IP sets ("+strings.Join(missing, ", ")+")")
		}
	}
	family, err := netlink.GenlFamilyGet(ipvsFamily)
	switch {
	case absent(err):
		return append(out, fmt.Sprintf("IPVS (modules ip_vs, ip_vs_%s)", scheduler)), nil
	case err != nil:
		return nil, fmt.Errorf("ask the kernel for IPVS: %w", err)
	}
	if err := virtualService(family.ID, scheduler); errors.Is(err, unix.ENOENT) {
		out = append(out, fmt.Sprintf("a scheduler of IPVS (module ip_vs_%s)", scheduler))
	}
	return out, nil
}

// absentSet reports whether the kernel does not know a type of sets: ipset's own number for that, or a missing module.
func absentSet(err error) bool {
	return errors.Is(err, nl.IPSetError(nl.IPSET_ERR_FIND_TYPE)) || absent(err)
}

// virtualService adds the virtual server that kube-proxy adds for its own check. The kernel loads the scheduler for it.
func virtualService(id uint16, scheduler string) error {
	service := nl.NewRtAttr(ipvsService, nil)
	service.AddRtAttr(svcFamily, nl.Uint16Attr(unix.AF_INET))
	service.AddRtAttr(svcProtocol, nl.Uint16Attr(unix.IPPROTO_TCP))
	service.AddRtAttr(svcAddress, append(net.IPv4(198, 51, 100, 0).To4(), make([]byte, 12)...))
	service.AddRtAttr(svcPort, []byte{20000 >> 8, 20000 & 0xff})
	service.AddRtAttr(svcScheduler, nl.ZeroTerminated(scheduler))
	service.AddRtAttr(svcFlags, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	service.AddRtAttr(svcTimeout, nl.Uint32Attr(0))
	service.AddRtAttr(svcNetmask, nl.Uint32Attr(0xffffffff))
	request := nl.NewNetlinkRequest(int(id), unix.NLM_F_ACK)
	request.AddData(&nl.Genlmsg{Command: ipvsNewService, Version: ipvsVersion})
	request.AddData(service)
	_, err := request.Execute(unix.NETLINK_GENERIC, 0)
	return err
}
