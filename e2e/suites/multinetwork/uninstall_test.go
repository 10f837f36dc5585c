package multinetwork

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// An uninstallation waits for pods with further networks, and then leaves nothing of them on nodes.
func TestUninstallationWithAttachedPods(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	define(t, ns, "link", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"10.90.1.64/28"}}`)
	define(t, ns, "leased", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"dhcp"}}`)
	define(t, ns, "local", bridgeLocal)
	a := run(t, asking(ns, "a", "worker-0", "link,leased,local"))
	b := run(t, asking(ns, "b", "worker-1", "link,leased,local"))
	if err := lab.Ping(t.Context(), a, outside4); err != nil {
		t.Fatal(err)
	}
	out, status, err := lab.CNO(t.Context(), "", "uninstall", "--yes")
	if err != nil || status != 1 || !strings.Contains(out, "nothing was changed: ") || !strings.Contains(out, ns+"/a and "+ns+"/b") {
		t.Fatalf("with attached pods it ends with %d, %v:\n%s", status, err, out)
	}
	if err := lab.Ping(t.Context(), a, outside4); err != nil {
		t.Errorf("the pods have lost their networks: %v", err)
	}
	remove(t, a)
	remove(t, b)
	if out, status, err = lab.CNO(t.Context(), "", "uninstall", "--yes"); err != nil || status != 0 {
		t.Fatalf("without attached pods it ends with %d, %v:\n%s", status, err, out)
	}
	t.Cleanup(func() { reinstall(t) })
	// The bridge and the directory of host-local belong to the plugins of containernetworking, which never remove them.
	const script = `ip -o link | grep -E 'macvlan|net[0-9]'; ls /etc/cni/net.d | grep multus; find /var/lib/cno/multus /var/lib/cno/whereabouts /var/lib/cno/dhcp /var/lib/cno/multus-policy -not -type d 2>/dev/null
		ls /run/cni/dhcp.sock 2>/dev/null; ls /var/lib/cni/networks/local 2>/dev/null | grep 198; nft list ruleset | grep -i multi; true`
	for _, node := range []string{"cp-0", "worker-0", "worker-1"} {
		left, err := lab.Lab(t.Context(), "exec", node, "--", "sh", "-c", script)
		if err != nil || strings.TrimSpace(left) != "" {
			t.Errorf("on %s are left: %v\n%s", node, err, left)
		}
	}
	if want := "network-attachment-definitions.k8s.cni.cncf.io: users have objects of the kind (" + ns + "/leased, " + ns + "/link and " + ns + "/local)"; !strings.Contains(out, want) {
		t.Errorf("the output does not say why the definitions stay:\n%s", out)
	}
	objects, err := lab.Kubectl(t.Context(), "get", "namespaces,crds", "-o", "name")
	for line := range strings.Lines(objects) {
		if strings.Contains(line, "multus") || strings.Contains(line, "cni.cncf.io") && !strings.Contains(line, "network-attachment-definitions") {
			t.Errorf("%s is left", strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// reinstall installs the operator and the network again.
func reinstall(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := lab.ReinstallOperator(ctx); err != nil {
		t.Fatal(err)
	}
	if err := lab.ApplySample(ctx, "network-flannel.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := lab.WaitSettled(ctx, 4*time.Minute); err != nil {
		t.Fatal(err)
	}
}
