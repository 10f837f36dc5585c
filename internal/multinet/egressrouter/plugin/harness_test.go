package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// asPlugin is the variable that makes the test's own program the plugin.
const asPlugin = "TEST_IS_EGRESS_ROUTER"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		Plugin{Log: os.Stderr}.Run()
		return
	}
	// The tests wait for answers on the link most of the time.
	flag.Parse()
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// lan is a switch, with an outside host that is the gateway, and has the addresses of all destinations.
type lan struct {
	bridge, outside netns.Namespace
	ports           int
}

func newLAN(t *testing.T) *lan {
	t.Helper()
	l := &lan{bridge: netns.New(t, "switch"), outside: netns.New(t, "outside")}
	l.bridge.Run("ip", "link", "add", "br0", "type", "bridge")
	l.bridge.Run("ip", "link", "set", "br0", "up")
	l.plug(l.outside, "eth0")
	for _, address := range []string{"192.168.12.1/24", "fd12::1/64"} {
		l.outside.Run("ip", "addr", "add", address, "dev", "eth0", "nodad")
	}
	for _, address := range []string{"203.0.113.26/32", "203.0.113.27/32", "203.0.113.28/32", "2001:db8::26/128", "2001:db8::27/128", "2001:db8::28/128"} {
		l.outside.Run("ip", "addr", "add", address, "dev", "lo", "nodad")
	}
	return l
}

// plug connects a namespace to the switch.
func (l *lan) plug(n netns.Namespace, link string) {
	l.ports++
	port := fmt.Sprintf("port%d", l.ports)
	l.bridge.Run("ip", "link", "add", port, "type", "veth", "peer", "name", link, "netns", n.Name)
	l.bridge.Run("ip", "link", "set", port, "master", "br0", "up")
	n.Run("ip", "link", "set", link, "up")
}

// node has eth1 on the lan, and a pod network; client is a pod whose address is as if it were of another node.
type node struct {
	netns.Namespace
	pod, client netns.Namespace
	t           *testing.T
}

// The pod network's addresses.
const (
	podIPv4, podIPv6     = "10.244.1.2", "fd00:1::2"
	clientIPv4           = "10.244.2.5"
	routerIPv4           = "192.168.12.99"
	routerIPv6           = "fd12::99"
	anotherDestination   = "203.0.113.28"
	anotherDestinationV6 = "2001:db8::28"
)

func (l *lan) newNode(t *testing.T) *node {
	t.Helper()
	n := &node{Namespace: netns.New(t, "node"), client: netns.New(t, "client"), t: t}
	l.plug(n.Namespace, "eth1")
	n.Run("ip", "addr", "add", "192.168.12.50/24", "dev", "eth1")
	n.Run("ip", "route", "add", "default", "via", "192.168.12.1")
	n.Run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
	n.pod = n.newPod("pod", "1", "2")
	n.Run("ip", "link", "add", "pod2", "type", "veth", "peer", "name", "eth0", "netns", n.client.Name)
	n.attach(n.client, "pod2", "2", "5")
	return n
}

func (n *node) newPod(label, subnet, host string) netns.Namespace {
	pod := netns.New(n.t, label)
	n.Run("ip", "link", "add", "pod"+subnet, "type", "veth", "peer", "name", "eth0", "netns", pod.Name)
	n.attach(pod, "pod"+subnet, subnet, host)
	return pod
}

func (n *node) attach(pod netns.Namespace, link, subnet, host string) {
	n.Run("ip", "addr", "add", "10.244."+subnet+".1/24", "dev", link)
	n.Run("ip", "addr", "add", "fd00:"+subnet+"::1/64", "dev", link, "nodad")
	n.Run("ip", "link", "set", link, "up")
	pod.Run("ip", "link", "set", "eth0", "up")
	pod.Run("ip", "addr", "add", "10.244."+subnet+"."+host+"/24", "dev", "eth0")
	pod.Run("ip", "addr", "add", "fd00:"+subnet+"::"+host+"/64", "dev", "eth0", "nodad")
	pod.Run("ip", "route", "add", "default", "via", "10.244."+subnet+".1")
	pod.Run("ip", "-6", "route", "add", "default", "via", "fd00:"+subnet+"::1")
}

// config is a configuration in the format that the controller writes.
func config(version, address, gateway string, destinations ...string) string {
	raw, err := json.Marshal(map[string]any{
		"cniVersion": version, "type": "egress-router", "name": "egress-router-test", "interfaceType": "macvlan",
		"interfaceArgs": map[string]any{"mode": "bridge", "master": "eth1"},
		"ip":            map[string]any{"addresses": []string{address}, "gateway": gateway, "destinations": append([]string{}, destinations...)},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// call runs the plugin on the node, and returns what it prints.
func (n *node) call(command string, pod netns.Namespace, link, config string) ([]byte, error) {
	netnsPath := ""
	if pod.Name != "" {
		netnsPath = pod.Path()
	}
	cmd := exec.Command("nsenter", "--net="+n.Path(), os.Args[0])
	cmd.Env = append(os.Environ(), asPlugin+"=1", "CNI_COMMAND="+command, "CNI_CONTAINERID=test", "CNI_NETNS="+netnsPath, "CNI_IFNAME="+link, "CNI_PATH=/none")
	cmd.Stdin = strings.NewReader(config)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	var printed types.Error
	if json.Unmarshal(out, &printed) == nil && printed.Code != 0 {
		return nil, &printed
	}
	return nil, fmt.Errorf("%w: %s%s", err, out, stderr.String())
}

// add wants the plugin to succeed.
func (n *node) add(pod netns.Namespace, link, config string) *current.Result {
	n.t.Helper()
	out, err := n.call("ADD", pod, link, config)
	if err != nil {
		n.t.Fatalf("ADD: %v", err)
	}
	var result current.Result
	if err := json.Unmarshal(out, &result); err != nil {
		n.t.Fatalf("ADD printed %s: %v", out, err)
	}
	return &result
}

// refused wants the plugin to fail with a code and words.
func refused(t *testing.T, err error, code uint, words ...string) {
	t.Helper()
	var printed *types.Error
	if !errors.As(err, &printed) || printed.Code != code {
		t.Fatalf("got %v; want code %d", err, code)
	}
	for _, word := range words {
		if !strings.Contains(printed.Error(), word) {
			t.Errorf("%q does not contain %q", printed.Error(), word)
		}
	}
}

// within runs a function in a namespace.
func within(t *testing.T, n netns.Namespace, do func() error) {
	t.Helper()
	if err := ns.WithNetNSPath(n.Path(), func(ns.NetNS) error { return do() }); err != nil {
		t.Fatal(err)
	}
}

// serve answers connections and packets with the address that they come from, and the port that they came to.
func serve(t *testing.T, n netns.Namespace, network, address string) {
	t.Helper()
	within(t, n, func() error {
		if strings.HasPrefix(network, "udp") {
			conn, err := net.ListenPacket(network, address)
			if err != nil {
				return err
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				for packet := make([]byte, 16); ; {
					_, from, err := conn.ReadFrom(packet)
					if err != nil {
						return
					}
					_, _ = conn.WriteTo([]byte(answer(from, conn.LocalAddr())), from)
				}
			}()
			return nil
		}
		listener, err := net.Listen(network, address)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(answer(conn.RemoteAddr(), conn.LocalAddr())))
				_ = conn.Close()
			}
		}()
		return nil
	})
}

func answer(from, at net.Addr) string {
	host, _, _ := net.SplitHostPort(from.String())
	return host + " at " + at.String()
}

// patience is how long a client waits for an answer.
const patience = time.Minute

// dial connects from a namespace, and returns the answer.
func dial(n netns.Namespace, network, address string, wait time.Duration) (answer string, err error) {
	err = ns.WithNetNSPath(n.Path(), func(ns.NetNS) error {
		conn, err := net.DialTimeout(network, address, wait)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		if strings.HasPrefix(network, "udp") {
			if _, err := conn.Write([]byte("?")); err != nil {
				return err
			}
		}
		buffer := make([]byte, 256)
		length, err := conn.Read(buffer)
		answer = string(buffer[:length])
		return err
	})
	return answer, err
}

func reaches(t *testing.T, from netns.Namespace, network, address, want string) {
	t.Helper()
	got, err := dial(from, network, address, patience)
	if err != nil || got != want {
		t.Errorf("%s %s: got %q, %v; want %q", network, address, got, err, want)
	}
}
