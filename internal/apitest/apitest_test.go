package apitest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// victimVariable makes the test binary a process that starts a server and waits to be killed.
const victimVariable = "CNO_APITEST_VICTIM"

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{Audit: true}) }

func TestSharedServerServesProjectKinds(t *testing.T) {
	server := apitest.Shared(t)
	if err := server.Client.List(t.Context(), &operatorv1.NetworkList{}); err != nil {
		t.Errorf("list networks: %v", err)
	}
	if again := apitest.Shared(t); again != server {
		t.Error("a second call started a second server")
	}
}

func TestKubeconfigFileIsUsable(t *testing.T) {
	server := apitest.Shared(t)
	config, err := clientcmd.BuildConfigFromFlags("", server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := server.ClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), types.NamespacedName{Name: "default"}, &corev1.Namespace{}); err != nil {
		t.Error(err)
	}
}

func TestRBACHoldsForUsersAndServiceAccounts(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	user, err := server.ClientFor(server.User(t, "reader", "readers"))
	if err != nil {
		t.Fatal(err)
	}
	account, err := server.ClientFor(server.ServiceAccount(t, namespace, "reader"))
	if err != nil {
		t.Fatal(err)
	}
	list := func(c client.Client) error {
		return c.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace))
	}
	for name, c := range map[string]client.Client{"user": user, "service account": account} {
		if err := list(c); !apierrors.IsForbidden(err) {
			t.Errorf("%s without a role: got %v, want forbidden", name, err)
		}
	}

	meta := metav1.ObjectMeta{Namespace: namespace, Name: "read"}
	server.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}},
	}})
	server.Create(t, &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read"},
		Subjects: []rbacv1.Subject{
			{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"},
			{Kind: "ServiceAccount", Namespace: namespace, Name: "reader"},
		}})
	for name, c := range map[string]client.Client{"user": user, "service account": account} {
		eventually.Is(t, name+" with a role may list", func() bool { return list(c) == nil })
	}
}

// TestChangesDoNotConflict changes objects that another client has written since they were read, and removes a field.
func TestChangesDoNotConflict(t *testing.T) {
	server := apitest.Shared(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "changed", Annotations: map[string]string{"removed": "", "kept": ""}}}
	server.Create(t, node)
	other := node.DeepCopy()
	other.Annotations["other"] = ""
	if err := server.Client.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	stale := node.DeepCopy()
	apitest.Change(t, server.Client, node, func() { delete(node.Annotations, "removed") })
	if diff := cmp.Diff(map[string]string{"kept": "", "other": ""}, node.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	apitest.ChangeStatus(t, server.Client, stale, func() {
		stale.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	})
	if len(stale.Status.Addresses) != 1 || len(stale.Annotations) != 2 {
		t.Errorf("after the change of the status the node is %+v", stale)
	}
}

func TestAuditLogHasEveryRequestOnce(t *testing.T) {
	server := apitest.Shared(t)
	config := server.User(t, "counted", "system:masters")
	config.UserAgent = "counted-client"
	c, err := server.ClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "a"}}
	if err := c.Create(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(configMap), configMap); err != nil {
		t.Fatal(err)
	}
	var reads, writes int
	for _, request := range server.Requests(t) {
		if request.UserAgent != "counted-client" || !strings.Contains(request.URI, "configmaps") {
			continue
		}
		if request.Writes() {
			writes++
		} else {
			reads++
		}
	}
	if reads != 1 || writes != 1 {
		t.Errorf("got %d reads and %d writes in the audit log, want 1 and 1", reads, writes)
	}
}

func TestServerStopsWithItsTestBinary(t *testing.T) {
	if os.Getenv(victimVariable) != "" {
		server := apitest.Start(t, apitest.Options{WithoutProjectCRDs: true})
		if err := os.WriteFile(os.Getenv(victimVariable), []byte(server.Config.Host), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // until it is killed
		return
	}
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	victim := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	// Its own directory for temporary files, since it gets no chance to remove them.
	victim.Env = append(os.Environ(), victimVariable+"="+started, "TMPDIR="+dir)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.Is(t, "the server is up", func() bool {
		content, err := os.ReadFile(started)
		return err == nil && len(content) > 0
	})
	if programs := runningFrom(t, dir); len(programs) != 2 {
		t.Errorf("got programs %q, want kube-apiserver and etcd", programs)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // returns the error that it was killed
	eventually.Is(t, "the programs are gone", func() bool { return len(runningFrom(t, dir)) == 0 })
}

// runningFrom returns the command lines of the API servers and etcds that use files below a directory.
func runningFrom(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		content, _ := os.ReadFile(file) // a process may have ended since
		program, arguments, _ := strings.Cut(string(content), "\x00")
		name := filepath.Base(program)
		if (name == "etcd" || name == "kube-apiserver") && strings.Contains(arguments, dir) {
			found = append(found, name)
		}
	}
	return found
}
