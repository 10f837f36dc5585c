package install

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
)

// outside is an etcd on a host outside the cluster that requires client certificates.
type outside struct {
	dir    string
	ca     *pki.CA
	client pki.Pair
	cmd    *exec.Cmd
}

const outsideURL = "https://10.89.0.1:2379"

// newOutside creates the certificates.
func newOutside(t *testing.T) *outside {
	t.Helper()
	e := &outside{dir: t.TempDir()}
	now := time.Now()
	var err error
	if e.ca, err = pki.NewCA("etcd of a third party", now); err != nil {
		t.Fatal(err)
	}
	server, err := e.ca.Issue(pki.Subject{CommonName: "etcd", Addresses: []netip.Addr{netip.MustParseAddr("10.89.0.1")}}, now)
	if err != nil {
		t.Fatal(err)
	}
	if e.client, err = e.ca.Issue(pki.Subject{CommonName: "flannel"}, now); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"ca.crt": e.ca.Cert, "server.crt": server.Cert, "server.key": server.Key, "client.crt": e.client.Cert, "client.key": e.client.Key,
	} {
		if err := os.WriteFile(filepath.Join(e.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func (e *outside) path(name string) string { return filepath.Join(e.dir, name) }

// start starts etcd with its previous data.
func (e *outside) start(t *testing.T) {
	t.Helper()
	e.cmd = exec.Command(filepath.Join(lab.Root, "_output/lab-bin/lab"), "exec", "underlay", "--",
		filepath.Join(lab.Root, "_output/lab/bin/etcd"), "--name=outside", "--data-dir="+e.path("data"), "--log-level=error", "--unsafe-no-fsync",
		"--listen-client-urls="+outsideURL, "--advertise-client-urls="+outsideURL, "--listen-peer-urls=http://127.0.0.1:2380",
		"--client-cert-auth", "--trusted-ca-file="+e.path("ca.crt"), "--cert-file="+e.path("server.crt"), "--key-file="+e.path("server.key"))
	e.cmd.Dir, e.cmd.Env = lab.Root, lab.Environ()
	// The program that enters the network is not etcd, but its parent: both are ended together.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stop)
}

// stop ends etcd as a crash would. It is harmless when it has ended.
func (e *outside) stop() {
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	_ = e.cmd.Wait()
}

// keys returns the keys that begin with a prefix.
func (e *outside) keys(ctx context.Context, prefix string) (string, error) {
	return lab.Lab(ctx, "exec", "underlay", "--", filepath.Join(lab.Root, "_output/lab/bin/etcdctl"), "--endpoints="+outsideURL,
		"--cacert="+e.path("ca.crt"), "--cert="+e.path("client.crt"), "--key="+e.path("client.key"), "get", "--prefix", "--keys-only", prefix)
}

// hand creates the objects that the sample names: the CA and the client certificate.
func (e *outside) hand(t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: kit.OperatorNamespace, Name: "flannel-etcd-ca"},
			Data:       map[string]string{"ca-bundle.crt": string(e.ca.Cert)},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: kit.OperatorNamespace, Name: "flannel-etcd-user"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{"tls.crt": e.client.Cert, "tls.key": e.client.Key},
		},
	} {
		if err := lab.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnExternalEtcdIsUsed(t *testing.T) {
	kit.Full(t)
	fresh(t)
	etcd := newOutside(t)
	etcd.start(t)
	endpoints := regexp.MustCompile(`endpoints:\n( +)- https://192\.0\.2\.10:2379\n(?: +- .*\n)*`)
	network := endpoints.ReplaceAllString(sample(t, "network-flannel-external-etcd.yaml"), "endpoints:\n$1- "+outsideURL+"\n")
	apply(t, network)
	kit.Eventually(t, time.Minute, "the condition names the objects that the user must create", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "FlannelDegraded", "True", "EtcdCredentials", "ConfigMap openshift-network-operator/flannel-etcd-ca", "ca-bundle.crt")
	})
	etcd.hand(t)
	settles(t)
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
	leases, err := etcd.keys(t.Context(), "/coreos.com/network/subnets/")
	if err != nil || len(strings.Fields(leases)) != len(pods) {
		t.Errorf("leases of %d nodes (%v): %s", len(pods), err, leases)
	}
	members := &appsv1.DeploymentList{}
	if err := lab.Client.List(t.Context(), members, client.InNamespace(kit.FlannelNamespace)); err != nil || len(members.Items) > 0 {
		t.Errorf("the operator runs an etcd in spite of the external one: %d members (%v)", len(members.Items), err)
	}

	etcd.stop()
	kit.Eventually(t, 4*time.Minute, "the loss of etcd is reported with its address", func(ctx context.Context) error {
		if err := lab.Mesh(ctx, pods); err != nil {
			t.Fatalf("traffic without etcd: %v", err)
		}
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		if c := kit.Condition(n, "FlannelDegraded"); c.Status != "True" || !strings.Contains(c.Message, "10.89.0.1:2379") {
			return fmt.Errorf("FlannelDegraded is %s: %s", c.Status, c.Message)
		}
		return nil
	})
	etcd.start(t)
	kit.Eventually(t, time.Minute, "the network is available again", lab.Settled)
}
