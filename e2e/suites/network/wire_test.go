package network

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestPayloadOfPodsOnTheWire captures what a pod sends to one of another node, on the interface of the receiver and on that of its node. The receiver sees the
// text; on the wire it is visible unless the network encrypts.
func TestPayloadOfPodsOnTheWire(t *testing.T) {
	const (
		text    = "a-text-that-no-other-packet-has"
		start   = "tcpdump -Z root -i eth0 -U -w /tmp/packets >/tmp/tcpdump 2>&1 & while ! [ -s /tmp/packets ]; do sleep 0.1; done"
		hasText = "grep -q -a " + text + " /tmp/packets && echo yes || echo no"
		hasESP  = "found=$(tcpdump -Z root -r /tmp/packets -n -c 1 'esp or udp port 4500') || exit 1; [ -n \"$found\" ] && echo yes || echo no"
	)
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	from, to := pods["worker-0"], pods["worker-1"]
	node := kit.ServerPod(ns, "node", "worker-1", nil)
	node.Spec.HostNetwork = true
	node.Spec.Containers[0].Args = []string{"pause"}
	if _, err := lab.RunPod(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	run := func(in *corev1.Pod, command string) string {
		t.Helper()
		out, err := lab.Exec(t.Context(), in, command)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	run(to, start)
	run(node, start)
	kit.Eventually(t, time.Minute, "the receiver sees the text", func(ctx context.Context) error {
		if _, err := lab.Get(ctx, from, "http://"+net.JoinHostPort(to.Status.PodIP, "8080")+"/echo?msg="+text); err != nil {
			return err
		}
		if out, err := lab.Exec(ctx, to, hasText); err != nil || out != "yes" {
			return errors.Join(errors.New("it is in no packet"), err)
		}
		return nil
	})
	// The captures of the receiver and of its node are not written at the same time.
	type row struct{ what, command string }
	visible, absent := row{"the text", hasText}, row{"ESP", hasESP}
	if network.Encrypted {
		visible, absent = absent, visible
	}
	kit.Eventually(t, time.Minute, visible.what+" is on the wire", func(ctx context.Context) error {
		if out, err := lab.Exec(ctx, node, visible.command); err != nil || out != "yes" {
			return errors.Join(errors.New("it is in no packet"), err)
		}
		return nil
	})
	if run(node, absent.command) == "yes" {
		t.Errorf("%s is on the wire", absent.what)
	}
}
