package node_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// annotated creates a pod with annotations on the node, without a sandbox.
func (m *machine) annotated(namespace, name string, privileged bool, annotations map[string]string) *pod {
	m.t.Helper()
	return m.scheduled(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
		Spec:       corev1.PodSpec{NodeName: m.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c", SecurityContext: &corev1.SecurityContext{Privileged: &privileged}}}},
	})
}

// arriving measures the kilobits a second that arrive of datagrams which one pod sends to another, after what may come at once.
func arriving(from, to *pod, offered int) (kilobits float64, err error) {
	const (
		payload = 1000
		frame   = payload + 42 // UDP, IP and Ethernet
		tick    = 10 * time.Millisecond
		skipped = 2 * time.Second
		window  = 4 * time.Second
	)
	var server net.PacketConn
	if err := ns.WithNetNSPath(to.Path(), func(ns.NetNS) (err error) { server, err = net.ListenPacket("udp", ":9000"); return err }); err != nil {
		return 0, err
	}
	defer server.Close()
	var client net.Conn
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) (err error) { client, err = net.Dial("udp", to.address.String()+":9000"); return err }); err != nil {
		return 0, err
	}
	defer client.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		data := make([]byte, payload)
		began, sent := time.Now(), 0
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			for ; sent < int(time.Since(began).Milliseconds())*offered/8/frame; sent++ {
				_, _ = client.Write(data)
			}
		}
	}()
	start := time.Now()
	if err := server.SetReadDeadline(start.Add(skipped + window)); err != nil {
		return 0, err
	}
	buffer, count := make([]byte, 2*payload), 0
	for {
		_, _, err := server.ReadFrom(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return float64(count*frame*8) / 1000 / window.Seconds(), nil
		}
		if err != nil {
			return 0, err
		}
		if time.Since(start) > skipped {
			count++
		}
	}
}

// limitedPods: limits of bandwidth hold within a tenth in both directions.
func limitedPods(t *testing.T, one *machine) {
	const rate = 4000
	limited := one.annotated("two", "limited", false, map[string]string{bandwidth.AnnotationIngress: "4M", bandwidth.AnnotationEgress: "4M"})
	if err := limited.add(); err != nil {
		t.Fatal(err)
	}
	other := one.pod("two", "unlimited", nil)
	for what, ends := range map[string][2]*pod{"ingress": {other, limited}, "egress": {limited, other}} {
		eventually.Holds(t, what+" is within a tenth of the limit", func() (string, bool) {
			got, err := arriving(ends[0], ends[1], 3*rate)
			return fmt.Sprint(got, err), err == nil && got > 0.9*rate && got < 1.1*rate
		})
	}
	meters := func() (string, bool) {
		out, err := ofctl(one, "dump-meters")
		return out, err == nil && strings.Count(out, "rate=4000") == 2
	}
	before := one.vswitchd()
	netns.Run(t, "kill", "-9", before)
	eventually.Holds(t, "another ovs-vswitchd has the limits", func() (string, bool) {
		if now := one.vswitchd(); now == "" || now == before {
			return now, false
		}
		return meters()
	})
	if err := limited.del(); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "limits end with the pod", func() (string, bool) {
		out, err := ofctl(one, "dump-meters")
		return out, err == nil && !strings.Contains(out, "rate=")
	})
	bad := one.annotated("two", "bad", false, map[string]string{bandwidth.AnnotationIngress: "fast", bandwidth.AnnotationEgress: "1"})
	if err := bad.add(); err == nil || !strings.Contains(err.Error(), `ingress-bandwidth is "fast"`) || !strings.Contains(err.Error(), `egress-bandwidth is "1"`) {
		t.Errorf("limits that are none: %v", err)
	}
	eventually.Holds(t, "an Event on the pod reports it", func() (string, bool) {
		var all corev1.EventList
		err := one.client.List(t.Context(), &all)
		for _, e := range all.Items {
			if e.InvolvedObject.Name == "bad" && strings.Contains(e.Message, `ingress-bandwidth is "fast"`) {
				return "", true
			}
		}
		return fmt.Sprint(len(all.Items), err), false
	})
}

func ofctl(m *machine, command string) (string, error) {
	return m.at.Try("ovs-ofctl", "-O", "OpenFlow15", command, "unix:"+filepath.Join(m.config.SwitchRunDir, "br0.mgmt"))
}

// macvlanPods: privileged pods get an interface on a link of the node.
func macvlanPods(t *testing.T, one *machine) {
	const annotation = "pod.network.openshift.io/assign-macvlan"
	p := one.annotated("two", "router", true, map[string]string{annotation: "eth0"})
	if err := p.add(); err != nil {
		t.Fatal(err)
	}
	if out := p.Run("ip", "-d", "link", "show", "macvlan0"); !strings.Contains(out, "macvlan mode") {
		t.Errorf("the interface is %s", out)
	}
	p.Run("ip", "address", "add", "192.0.2.50/24", "dev", "macvlan0")
	p.Run("ip", "link", "set", "macvlan0", "up")
	other := netns.New(t, "neighbour")
	one.link.Run("ip", "link", "add", "neighbour", "type", "veth", "peer", "name", "eth0", "netns", other.Name)
	one.link.Run("ip", "link", "set", "neighbour", "master", "sw0", "up")
	other.Run("ip", "address", "add", "192.0.2.101/24", "dev", "eth0")
	other.Run("ip", "link", "set", "eth0", "up")
	eventually.Holds(t, "the pod is on the link of the node", func() (string, bool) {
		out, err := other.Try("ping", "-n", "-c", "1", "-W", "1", "192.0.2.50")
		return out, err == nil
	})
	for _, row := range []struct {
		why, name, value string
		privileged       bool
		want             string
	}{
		{"a pod that is not privileged", "plain", "eth0", false, "has no privileged container"},
		{"a link that does not exist", "nowhere", "eth9", true, "the node has no such link"},
		{"no default route", "lost", "true", true, "the node has no default route"},
	} {
		p := one.annotated("two", row.name, row.privileged, map[string]string{annotation: row.value})
		if err := p.add(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}
