package node_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/testing/durations"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// addedPods is the number of pods that are added and deleted.
const addedPods = 100

// plainPort attaches a pod without flows, shim and portmap: its link, and its port by the agent's connection to the database.
func (m *machine) plainPort(b *testing.B, to ovs.Configuration, i int, pod netns.Namespace) error {
	b.Helper()
	p := m.handPort(b, i, pod)
	if _, err := p.link.Create(); err != nil {
		return err
	}
	return to.EnsurePort(b.Context(), plainBridge, ovs.Port{Name: p.link.Name, Number: p.number, ExternalIDs: p.ids})
}

// handPort is the port of a pod without an agent.
type handPort struct {
	link   ovs.PodLink
	number uint32
	ids    map[string]string
}

func (m *machine) handPort(b *testing.B, i int, pod netns.Namespace) handPort {
	b.Helper()
	address := netip.AddrFrom4([4]byte{198, 18, 1, byte(i)})
	l := ovs.PodLink{Name: fmt.Sprint("hand", i), Pod: pod.Path(), PodName: "eth0", MTU: podMTU, MAC: flows.PodMAC(address), Userspace: !kernelDatapath(b), Addresses: []netip.Prefix{netip.PrefixFrom(address, 24)}}
	if l.Userspace {
		l.Place = ovs.Place{Path: "/run/netns/" + m.config.SwitchNamespace}
	}
	return handPort{l, uint32(100 + i), map[string]string{"sandbox": pod.Name, "ip": address.String(), "pod-name": fmt.Sprint("p", i), "pod-namespace": "one"}}
}

// byHand attaches a pod with ovs-vsctl and ovs-ofctl: the same link, its port with the same external IDs, and the flows that the pod needs on a bridge.
func (m *machine) byHand(b *testing.B, i int, pod netns.Namespace) error {
	b.Helper()
	p := m.handPort(b, i, pod)
	if _, err := p.link.Create(); err != nil {
		return err
	}
	address, port, name, mac := p.link.Addresses[0].Addr(), p.number, p.link.Name, p.link.MAC
	add := []string{"ovs-vsctl", "--db=unix:" + m.config.SwitchRunDir + "/db.sock", "--timeout=60", "--may-exist", "add-port", plainBridge, name, "--", "set", "interface", name, fmt.Sprint("ofport_request=", port)}
	for key, value := range p.ids {
		add = append(add, "external_ids:"+key+"="+value)
	}
	for _, c := range []struct {
		input string
		args  []string
	}{
		{"", add},
		{strings.Join([]string{
			fmt.Sprintf("table=20,priority=100,arp,in_port=%d,arp_spa=%s,arp_sha=%s,actions=load:10->NXM_NX_REG0[],goto_table:30", port, address, mac),
			fmt.Sprintf("table=20,priority=100,ip,in_port=%d,nw_src=%s,actions=load:10->NXM_NX_REG0[],goto_table:27", port, address),
			fmt.Sprintf("table=25,priority=100,ip,nw_src=%s,actions=load:10->NXM_NX_REG0[],goto_table:30", address),
			fmt.Sprintf("table=40,priority=100,arp,arp_tpa=%s,actions=output:%d", address, port),
			fmt.Sprintf("table=70,priority=100,ip,nw_dst=%s,actions=load:10->NXM_NX_REG1[],load:%d->NXM_NX_REG2[],goto_table:80", address, port),
		}, "\n"), []string{"ovs-ofctl", "-O", "OpenFlow15", "--bundle", "add-flows", "unix:" + m.config.SwitchRunDir + "/" + plainBridge + ".mgmt", "-"}},
	} {
		// With a hundred at once, the daemons refuse some connections.
		if err := retried(func() error {
			cmd := exec.CommandContext(b.Context(), c.args[0], c.args[1:]...)
			cmd.Stdin = strings.NewReader(c.input)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", c.args[0], err, out)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// removeByHand removes what byHand has added.
func (m *machine) removeByHand(b *testing.B, i int) {
	b.Helper()
	name := fmt.Sprint("hand", i)
	m.vsctl(b, "del-port", plainBridge, name)
	if err := (ovs.Place{Path: "/run/netns/" + m.config.SwitchNamespace}).Remove(name); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAddOfPods measures ADD as a container runtime calls it, with the shim and the plugin portmap, beside the same steps by hand, some at once. It also
// measures what of an ADD is the time of Open vSwitch for a port: no program can be faster.
func BenchmarkAddOfPods(b *testing.B) {
	_, one, two := running(b, agentconfig.NetworkPolicy)
	one.plain(b, 1, two.address)
	var pods []*pod
	var hands []netns.Namespace
	for i := range addedPods {
		pods = append(pods, one.schedule("one", fmt.Sprint("p", i), nil))
		hands = append(hands, netns.New(b, "hand"))
	}
	client, err := ovsdb.Dial(b.Context(), one.config.SwitchRunDir+"/db.sock")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	timed := func(b *testing.B, parallel int, f func(i int) error) (took []time.Duration, all time.Duration) {
		took = make([]time.Duration, addedPods)
		var group errgroup.Group
		group.SetLimit(parallel)
		begin := time.Now()
		for i := range addedPods {
			group.Go(func() error {
				start := time.Now()
				err := f(i)
				took[i] = time.Since(start)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		return took, time.Since(begin)
	}
	for _, parallel := range []int{1, 10, addedPods} {
		b.Run(fmt.Sprint("parallel=", parallel), func(b *testing.B) {
			var add, hand, port []time.Duration
			var addAll, handAll, portAll time.Duration
			for b.Loop() {
				took, all := timed(b, parallel, func(i int) error { return pods[i].add() })
				add, addAll = append(add, took...), addAll+all
				took, all = timed(b, parallel, func(i int) error { return one.byHand(b, i, hands[i]) })
				hand, handAll = append(hand, took...), handAll+all
				for i := range addedPods {
					one.removeByHand(b, i)
				}
				took, all = timed(b, parallel, func(i int) error { return one.plainPort(b, ovs.Configuration{Client: client}, i, hands[i]) })
				port, portAll = append(port, took...), portAll+all
				for i := range addedPods {
					if err := pods[i].del(); err != nil {
						b.Fatal(err)
					}
					one.removeByHand(b, i)
				}
			}
			b.ReportMetric(0, "ns/op")
			durations.Report(b, "add", add)
			durations.Report(b, "hand", hand)
			durations.Report(b, "port", port)
			b.ReportMetric(float64(len(add))/addAll.Seconds(), "add/s")
			b.ReportMetric(float64(len(hand))/handAll.Seconds(), "hand/s")
			b.ReportMetric(float64(len(port))/portAll.Seconds(), "port/s")
			b.ReportMetric(float64(handAll)/float64(addAll), "rate/hand")
			b.ReportMetric(float64(handAll)/float64(portAll), "port-rate/hand")
		})
	}
}
