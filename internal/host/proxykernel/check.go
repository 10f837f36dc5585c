package proxykernel

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Modes of kube-proxy.
const (
	NFTables = "nftables"
	IPTables = "iptables"
	IPVS     = "ipvs"
)

// Needs are the requirements of a mode of kube-proxy.
type Needs struct {
	// Mode is NFTables, IPTables or IPVS.
	Mode string
	// IPv4 and IPv6 are the families of the cluster, at least one.
	IPv4, IPv6 bool
	// Scheduler is the scheduler of ipvs; empty for kube-proxy's default, rr.
	Scheduler string
	// MinimumKernel is the oldest version of Linux that kube-proxy accepts in this mode; the zero value is any.
	MinimumKernel facts.KernelVersion
}

// Check returns an error that names all features that the running kernel lacks; nil if it has all.
func Check(n Needs) error {
	if !slices.Contains([]string{NFTables, IPTables, IPVS}, n.Mode) {
		return fmt.Errorf("mode %q: must be %s, %s or %s", n.Mode, NFTables, IPTables, IPVS)
	}
	if !n.IPv4 && !n.IPv6 {
		return errors.New("no IP family given: must be IPv4, IPv6 or both")
	}
	release, err := kernelRelease()
	if err != nil {
		return err
	}
	result := make(chan []string, 1)
	failed := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and the namespace with the thread.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			failed <- fmt.Errorf("create a network namespace for the check of the kernel: %w", err)
			return
		}
		missing, err := n.missing(release)
		if err != nil {
			failed <- err
			return
		}
		result <- missing
	}()
	select {
	case err := <-failed:
		return err
	case missing := <-result:
		if len(missing) == 0 {
			return nil
		}
		return errors.New(message(n.Mode, release, missing))
	}
}

// message returns a short text that begins with the missing features, since conditions show only the first 200 bytes of a termination message.
func message(mode, release string, missing []string) string {
	return fmt.Sprintf("proxy-mode %s: kernel %s lacks %s; the old rules stay. Load the modules or change proxyArguments[proxy-mode]",
		mode, release, strings.Join(missing, ", "))
}

// missing returns the features that the kernel lacks. It runs in a separate network namespace.
func (n Needs) missing(release string) ([]string, error) {
	var out []string
	if v, ok := facts.ParseKernelVersion(release); ok && n.MinimumKernel != (facts.KernelVersion{}) && !v.AtLeast(n.MinimumKernel.Major, n.MinimumKernel.Minor) {
		out = append(out, fmt.Sprintf("support for it (Linux %s or later)", n.MinimumKernel))
	}
	netfilter, err := openNetfilter()
	if err != nil {
		return nil, err
	}
	defer netfilter.close()
	for _, family := range n.families() {
		var (
			found []string
			err   error
		)
		if n.Mode == NFTables {
			found, err = netfilter.nftables(family)
		} else {
			found, err = netfilter.iptables(family)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if n.Mode == IPVS {
		found, err := ipvs(n.Scheduler)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func (n Needs) families() []family {
	var out []family
	if n.IPv4 {
		out = append(out, family{"IPv4", unix.NFPROTO_IPV4})
	}
	if n.IPv6 {
		out = append(out, family{"IPv6", unix.NFPROTO_IPV6})
	}
	return out
}

func kernelRelease() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", fmt.Errorf("read the version of the kernel: %w", err)
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}
