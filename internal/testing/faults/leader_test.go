package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/operator"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
)

// asChild names the kubeconfig with which this program is an operator, and stopAt the write before which it stops itself.
const asChild, stopAt = "FAULTS_TEST_KUBECONFIG", 12

func TestMain(m *testing.M) {
	if path := os.Getenv(asChild); path != "" {
		child(path)
	}
	apitest.Main(m, apitest.Options{})
}

// childUser is who the API server takes the child for.
const childUser = "child"

// kubeconfigOf writes a configuration to a file.
func kubeconfigOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// child is an operator that stops itself in the middle of what it does, as SIGSTOP from outside would.
func child(kubeconfig string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config.QPS = -1
	writes := 0
	line := faults.NewLine(func(call faults.Call) faults.Fault {
		if call.Write > 0 && !strings.Contains(call.Path, "/leases") {
			if writes++; writes == stopAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		}
		return faults.None
	})
	err = operator.Run(context.Background(), optionsFor(config, line, withLease, func(o *operator.Options) {
		o.Log = slog.New(slog.DiscardHandler)
	}))
	fmt.Fprintln(os.Stderr, "ended:", err)
	os.Exit(1)
}

// state is the state of a process in the kernel: T is stopped.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return after[:1]
}

// TestSuspendedLeaderIsReplaced stops the process of a leader in the middle of an install, lets another one
// take over, and resumes the first.
func TestSuspendedLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	c := newClusterWith(t, apitest.Options{Audit: true})
	c.create(newNetwork())
	want, p := c.undisturbed()
	c.stop(p)
	c.clear()
	c.create(newNetwork())

	var log bytes.Buffer
	first := exec.CommandContext(t.Context(), os.Args[0])
	first.Env, first.Stderr = append(os.Environ(), asChild+"="+kubeconfigOf(t, c.User(t, childUser, "system:masters"))), &log
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	c.eventually("the leader stops", func() string {
		if now := state(first.Process.Pid); now != "T" {
			return "it is " + now
		}
		return ""
	})
	started := time.Now()
	heir := c.start(faults.NewLine(nil), withLease)
	c.reaches(heir, want, "the leader stopped")
	t.Logf("%s after the leader stopped, another has finished", time.Since(started).Round(time.Millisecond))

	awake := time.Now()
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it ends with an error, since it has lost the lease
	if !strings.Contains(log.String(), "ended: ") {
		t.Errorf("the output is\n%s", log.String())
	}
	late := 0
	for _, r := range c.Requests(t) {
		if r.Writes() && r.Time.After(awake) && r.User.Username == childUser && !strings.Contains(r.URI, "/leases") {
			late++
		}
	}
	// What was on its way when it stopped cannot be called back.
	if t.Logf("%d writes of the old leader after it woke", late); late > 8 {
		t.Errorf("%d writes of the old leader after it woke", late)
	}
	c.reaches(heir, want, "the old leader woke")
}

func TestDeletedLeaseIsRecreated(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "network-operator-lock"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("another operator"), LeaseDurationSeconds: new(int32(600)), RenewTime: &metav1.MicroTime{Time: time.Now()},
	}}
	c.create(held)
	c.create(newNetwork())
	p := c.start(faults.NewLine(nil), withLease)
	const often = 5
	c.eventually("the operator asks for the lease several times", func() string {
		asked := 0
		for _, call := range p.line.Calls() {
			if strings.HasSuffix(call.Path, "/leases/network-operator-lock") {
				asked++
			}
		}
		if asked < often {
			return fmt.Sprintf("it asked %d times", asked)
		}
		return ""
	})
	if n := p.line.Writes(); n > 0 {
		t.Errorf("%d writes while another operator has the lease", n)
	}
	if err := c.Client.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	c.finishes(p, "the network is installed when no one has it")
	if err := c.Client.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	c.eventually("the lease is recreated", func() string {
		return errorOf(c.Client.Get(t.Context(), client.ObjectKeyFromObject(held), &coordinationv1.Lease{}))
	})
}
