package node_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

// TestLimitsOfBandwidth: what a pod gets and sends is limited, also between nodes, and a pod with limits that are not valid is refused.
func TestLimitsOfBandwidth(t *testing.T) {
	c := running(t)
	one, two := c.nodes[0], c.nodes[1]
	limited, near, far := one.pod("limited"), one.pod("near"), two.pod("far")
	const rate = 4000 // kilobits a second
	one.limit(limited, bandwidth.Limits{Ingress: rate, Egress: rate})
	for what, ends := range map[string][2]*pod{"ingress": {near, limited}, "egress": {limited, near}, "ingress from another node": {far, limited}, "egress to another node": {limited, far}} {
		eventually.Holds(t, what+" is limited", func() (string, bool) {
			got, err := arriving(ends[0], ends[1], 3*rate)
			return fmt.Sprintf("%.0f kilobits a second: %v", got, err), err == nil && got > 0.6*rate && got < 1.1*rate
		})
	}
	eventually.Holds(t, "other pods are not limited", func() (string, bool) {
		got, err := arriving(near, far, 3*rate)
		return fmt.Sprintf("%.0f kilobits a second: %v", got, err), err == nil && got > 1.5*rate
	})
	bad := one.schedule("bad")
	bad.give()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "bad"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"fast",%q:"1"}}}`, bandwidth.AnnotationIngress, bandwidth.AnnotationEgress))
	if err := c.api.Client.Patch(t.Context(), object, patch); err != nil {
		t.Fatal(err)
	}
	wrong := func(text string) bool {
		return strings.Contains(text, `ingress-bandwidth is "fast"`) && strings.Contains(text, `egress-bandwidth is "1"`)
	}
	if err := bad.add(); err == nil || !wrong(err.Error()) {
		t.Errorf("limits that are not valid: %v", err)
	}
	eventually.Holds(t, "an event on the pod has both", func() (string, bool) {
		var all corev1.EventList
		err := c.api.Client.List(t.Context(), &all, client.InNamespace(c.ns))
		for _, e := range all.Items {
			if e.InvolvedObject.Name == "bad" && wrong(e.Message) {
				return "", true
			}
		}
		return fmt.Sprint(len(all.Items), err), false
	})
}

// limit writes the rows that the master has for the limits of a pod.
func (m *machine) limit(p *pod, limits bandwidth.Limits) {
	m.t.Helper()
	in := northbound.Pod{Pod: netpolicy.Pod{ID: netpolicy.ID{Namespace: m.ns, Name: p.name}}, Node: m.name, MAC: p.given.MAC, Limits: limits}
	in.Addresses = append(in.Addresses, p.addr())
	rows, _ := northbound.Rows(northbound.Input{Nodes: []northbound.Node{{Name: m.name, Blocks: p.given.Addresses}}, Pods: []northbound.Pod{in}})
	for _, row := range rows {
		if band, ok := row.Columns["bandwidth"].(interface{ MarshalJSON() ([]byte, error) }); ok {
			text, err := band.MarshalJSON()
			if err != nil {
				m.t.Fatal(err)
			}
			var burst, rate int
			if _, err := fmt.Sscanf(string(text), `["map",[["burst",%d],["rate",%d]]]`, &burst, &rate); err != nil {
				m.t.Fatalf("%s: %v", text, err)
			}
			m.nbctl("qos-add", m.name, fmt.Sprint(row.Columns["direction"]), fmt.Sprint(row.Columns["priority"]), fmt.Sprint(row.Columns["match"]), fmt.Sprintf("rate=%d", rate), fmt.Sprintf("burst=%d", burst))
		}
	}
	m.nbctl("--timeout=60", "--wait=hv", "sync")
}

// arriving measures the kilobits a second that arrive of datagrams that one pod sends to another, after what may come at once.
func arriving(from, to *pod, offered int) (kilobits float64, err error) {
	const (
		payload = 1000
		frame   = payload + 42 // UDP, IP and Ethernet
		tick    = 10 * time.Millisecond
		skipped = time.Second
		window  = 3 * time.Second
	)
	var server net.PacketConn
	if err := ns.WithNetNSPath(to.Path(), func(ns.NetNS) (err error) { server, err = net.ListenPacket("udp", ":9000"); return err }); err != nil {
		return 0, err
	}
	defer server.Close()
	var sender net.Conn
	if err := ns.WithNetNSPath(from.Path(), func(ns.NetNS) (err error) { sender, err = net.Dial("udp", to.addr().String()+":9000"); return err }); err != nil {
		return 0, err
	}
	defer sender.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		data, began, sent := make([]byte, payload), time.Now(), 0
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			for ; sent < int(time.Since(began).Milliseconds())*offered/8/frame; sent++ {
				_, _ = sender.Write(data) // what cannot be sent does not arrive, which is what is counted
			}
		}
	}()
	began, count := time.Now(), 0
	if err := server.SetReadDeadline(began.Add(skipped + window)); err != nil {
		return 0, err
	}
	for buffer := make([]byte, 2*payload); ; {
		_, _, err := server.ReadFrom(buffer)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return float64(count*frame*8) / 1000 / window.Seconds(), nil
		}
		if err != nil {
			return 0, err
		}
		if time.Since(began) > skipped {
			count++
		}
	}
}
