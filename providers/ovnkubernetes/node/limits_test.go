package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// TestLimitsOfBandwidth: what a pod gets and sends is limited, also between nodes and when its annotations change, and a pod with limits that are not valid
// is refused.
func TestLimitsOfBandwidth(t *testing.T) {
	c := governed(t)
	one, two := c.nodes[0], c.nodes[1]
	limited, near, far := one.governedPod("limited"), one.governedPod("near"), two.governedPod("far")
	const offered = 12000 // kilobits a second
	for _, rate := range []float64{4000, 2000} {
		c.annotate("limited", bandwidth.AnnotationIngress, fmt.Sprintf("%.0fk", rate), bandwidth.AnnotationEgress, fmt.Sprintf("%.0fk", rate))
		for what, ends := range map[string][2]*pod{"ingress": {near, limited}, "egress": {limited, near}, "ingress from another node": {far, limited}, "egress to another node": {limited, far}} {
			eventually.Holds(t, fmt.Sprintf("%s is limited to %.0f", what, rate), func() (string, bool) {
				got, err := arriving(ends[0], ends[1], offered)
				return fmt.Sprintf("%.0f kilobits a second: %v", got, err), err == nil && got > 0.6*rate && got < 1.1*rate
			})
		}
	}
	eventually.Holds(t, "other pods are not limited", func() (string, bool) {
		got, err := arriving(near, far, offered)
		return fmt.Sprintf("%.0f kilobits a second: %v", got, err), err == nil && got > offered/2
	})
	c.agreesWhole("with limits")
	t.Run("limits that are not valid", func(t *testing.T) { c.refusesLimits(one) })
}

// refusesLimits adds a pod whose limits are not valid.
func (c *cluster) refusesLimits(on *machine) {
	c.t.Helper()
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "bad", Annotations: map[string]string{bandwidth.AnnotationIngress: "fast", bandwidth.AnnotationEgress: "1"}},
		Spec:       corev1.PodSpec{NodeName: on.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
	}
	c.create(object)
	bad := &pod{Namespace: netns.New(c.t, "bad"), m: on, name: object.Name, uid: string(object.UID)}
	wrong := func(text string) bool {
		return strings.Contains(text, `ingress-bandwidth is "fast"`) && strings.Contains(text, `egress-bandwidth is "1"`)
	}
	if err := bad.add(); err == nil || !wrong(err.Error()) {
		c.t.Errorf("ADD: %v", err)
	}
	eventually.Holds(c.t, "an event on the pod has both", func() (string, bool) {
		var all corev1.EventList
		err := c.api.Client.List(c.t.Context(), &all, client.InNamespace(c.ns))
		for _, e := range all.Items {
			if e.InvolvedObject.Name == object.Name && wrong(e.Message) {
				return "", true
			}
		}
		return fmt.Sprint(len(all.Items), err), false
	})
}

// annotate sets annotations of a pod, by key and value.
func (c *cluster) annotate(name string, pairs ...string) {
	c.t.Helper()
	annotations := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		annotations[pair[0]] = pair[1]
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		c.t.Fatal(err)
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name}}
	if err := c.api.Client.Patch(c.t.Context(), object, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		c.t.Fatal(err)
	}
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
