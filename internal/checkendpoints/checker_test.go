package checkendpoints

import (
	"net"
	"os"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// listen accepts connections on loopback, at an address or at any.
func listen(t *testing.T, at string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	return l
}

// sourceAccount gives an account the role that sources have, and nothing else.
func sourceAccount(t *testing.T, server *apitest.Server, namespace string) {
	t.Helper()
	role, err := manifest.Decode[rbacv1.ClusterRole](os.DirFS("../../providers/diagnostics"), "assets/clusterrole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server.Create(t, role)
	server.Create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sources"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "source", Namespace: namespace}}})
}

func TestOutageOfATargetIsReportedInTheStatus(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	sourceAccount(t, server, namespace)
	target := listen(t, "127.0.0.1:0")
	address := target.Addr().String()
	server.Create(t, newCheck(namespace, "network-check-source-a-to-x", "me", address))
	server.Create(t, newCheck(namespace, "network-check-source-b-to-x", "another", address))
	s := start(t, server.ServiceAccount(t, namespace, "source"), namespace, "me", quick())
	is := func(status metav1.ConditionStatus, reason string) func() bool {
		return func() bool {
			c := reachable(t, server, namespace, "network-check-source-a-to-x")
			return c.Status == status && c.Reason == reason
		}
	}
	eventually.Is(t, "it is reachable", is(metav1.ConditionTrue, "TCPConnectSuccess"))
	if !s.Ready() {
		t.Error("the source is not ready")
	}
	target.Close()
	eventually.Is(t, "it is gone", is(metav1.ConditionFalse, "TCPConnectError"))
	listen(t, address)
	eventually.Is(t, "it is back", is(metav1.ConditionTrue, "TCPConnectSuccess"))

	var c check
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "network-check-source-a-to-x"}, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Status.Outages) != 1 || c.Status.Outages[0].End.IsZero() || len(c.Status.Failures) == 0 || len(c.Status.Successes) == 0 {
		t.Errorf("status is %+v", c.Status)
	}
	if other := reachable(t, server, namespace, "network-check-source-b-to-x"); other.Type != "" {
		t.Errorf("the check of another pod was run: %+v", other)
	}
}

func TestUnchangedStatusIsWrittenOnce(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	server.Create(t, newCheck(namespace, "network-check-source-a-to-x", "me", listen(t, "127.0.0.1:0").Addr().String()))
	s := start(t, server.Config, namespace, "me", quick())
	eventually.Is(t, "fifty samples were taken", func() bool { return samples(t, s) >= 50 })
	if w := s.writes.Load(); w != 1 {
		t.Errorf("%d writes", w)
	}
	if r := s.reads.Load(); r > 2 {
		t.Errorf("%d reads; want a list and a watch", r)
	}
}

func TestStatusIsRefreshedPeriodically(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	server.Create(t, newCheck(namespace, "network-check-source-a-to-x", "me", listen(t, "127.0.0.1:0").Addr().String()))
	pace := quick()
	pace.Refresh = 50 * time.Millisecond
	s := start(t, server.Config, namespace, "me", pace)
	eventually.Is(t, "it is written again", func() bool { return s.writes.Load() >= 3 })
}

func TestChecksThatChangeAreFollowed(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	s := start(t, server.Config, namespace, "me", quick())
	eventually.Is(t, "changes are followed", s.Ready)
	c := newCheck(namespace, "network-check-source-a-to-x", "me", "127.0.0.1:1")
	server.Create(t, c)
	is := func(status metav1.ConditionStatus) func() bool {
		return func() bool { return reachable(t, server, namespace, c.Name).Status == status }
	}
	eventually.Is(t, "a new check is run", is(metav1.ConditionFalse))
	apitest.Change(t, server.Client, c, func() { c.Spec.TargetEndpoint = listen(t, "127.0.0.1:0").Addr().String() })
	eventually.Is(t, "its new target is checked", is(metav1.ConditionTrue))
	if err := server.Client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually.Is(t, "it is no longer run, nor counted", func() bool { return samples(t, s) == 0 })
}

// samples is how many were counted of all checks.
func samples(t *testing.T, s *source) float64 {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

// The server is one of its own: its kinds come and go.
func TestCRDMayAppearLateAndDisappear(t *testing.T) {
	server := apitest.Start(t, apitest.Options{})
	namespace := server.Namespace(t)
	s := start(t, server.Config, namespace, "me", quick())
	eventually.Is(t, "the source is ready without the kind", s.Ready)
	target := listen(t, "127.0.0.1:0").Addr().String()
	for _, round := range []string{"the first time", "again"} {
		server.Install(t, kind)
		c := newCheck(namespace, "network-check-source-a-to-x", "me", target)
		if err := server.Client.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		eventually.Is(t, "a check is run "+round, func() bool { return reachable(t, server, namespace, c.Name).Status == metav1.ConditionTrue })
		server.Uninstall(t, kind)
		eventually.Is(t, "nothing is checked any more "+round, func() bool { return samples(t, s) == 0 })
	}
}
