package etcdmanager_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
)

// model is a calendar whose members behave as etcd's do: they read the CAs they trust when they start and their
// certificate at every handshake, keep a connection for as long as both of its ends run, and are ready while they have
// a quorum.
type model struct {
	*calendar
	// hashes are those of the pods that run, by node; nodes in off do not run.
	hashes map[string]string
	off    map[string]bool
	// connected are the pairs of members with a connection, in alphabetical order.
	connected map[[2]string]bool
	// identity is true while the members ask who a client is.
	identity bool
	// trusted returns until when a bundle trusts a certificate, since checking signatures takes most of a test's time.
	trusted map[[2]string]time.Time
}

// newModel returns three members that are healthy.
func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{calendar: newCalendar(t), hashes: map[string]string{}, off: map[string]bool{}, connected: map[[2]string]bool{}, trusted: map[[2]string]time.Time{}}
	m.operatorRestarts()
	for range 12 {
		m.round("a", "b", "c")
	}
	m.converged()
	return m
}

func (m *model) operatorRestarts() { m.restart(func(*deps) {}) }

// restart replaces the operator by one with other dependencies.
func (m *model) restart(change func(*deps)) {
	m.loop.Close()
	d := m.loop.deps
	change(&d)
	d.Dial = func(t etcdclient.Target) (etcdclient.Etcd, error) {
		return modelEtcd{steadyEtcd{members: m.members}, m, t.TLS}, nil
	}
	m.loop = newNetwork(d)
	m.t.Cleanup(m.loop.Close)
}

// modelEtcd answers where the client's certificate is accepted, and lists members while there is a quorum.
type modelEtcd struct {
	steadyEtcd
	m *model
	// presented is what the operator connects with.
	presented *tls.Config
}

func (e modelEtcd) AuthEnabled(context.Context) (bool, error) { return e.m.identity, nil }

func (e modelEtcd) Status(_ context.Context, url string) (etcdclient.Database, error) {
	for _, member := range e.members().Members {
		if member.ClientURL == url && e.accepted(member) {
			return etcdclient.Database{}, nil
		}
	}
	return etcdclient.Database{}, errors.New("rejected")
}

func (e modelEtcd) List(ctx context.Context) ([]etcdclient.Member, error) {
	for _, member := range e.members().Members {
		if e.accepted(member) && e.m.ready(member.Node) {
			return e.steadyEtcd.List(ctx)
		}
	}
	return nil, errors.New("no quorum")
}

// accepted reports whether a member accepts the operator's certificate: that of the root user, if it asks.
func (e modelEtcd) accepted(member etcdcluster.Member) bool {
	if e.m.hashes[member.Node] == "" || e.presented == nil || len(e.presented.Certificates) == 0 {
		return false
	}
	cert, err := x509.ParseCertificate(e.presented.Certificates[0].Certificate[0])
	return err == nil && e.m.loaded[member.Node].Trusts(cert, e.m.now) && (!e.m.identity || cert.Subject.CommonName == etcdcluster.RootUser)
}

// accepts reports whether the member on a node trusts the certificate in a Secret.
func (m *model) accepts(node, secret string) bool {
	var s corev1.Secret
	if err := m.api.Get(m.t.Context(), secretKey(secret), &s); err != nil {
		return false
	}
	key := [2]string{string(m.loaded[node].PEM()), string(s.Data[corev1.TLSCertKey])}
	until, known := m.trusted[key]
	if !known {
		cert, _, err := certs.Pair{Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}.Parse()
		if err == nil && m.loaded[node].Trusts(cert, m.now) {
			until = cert.NotAfter
		}
		m.trusted[key] = until
	}
	return m.now.Before(until)
}

// round runs the operator and the kubelets of some nodes once, and advances the time by half a minute.
func (m *model) round(nodes ...string) {
	m.t.Helper()
	m.operator()
	for _, node := range nodes {
		m.kubelet(node)
	}
	m.now = m.now.Add(30 * time.Second)
}

func (m *model) operator() {
	m.t.Helper()
	if _, err := m.loop.Reconcile(m.t.Context(), reconcile.Request{}); err != nil {
		m.t.Fatal(err)
	}
}

// kubelet starts the pod on a node, again if the record has changed, and reports whether it is ready.
func (m *model) kubelet(node string) {
	m.t.Helper()
	for _, member := range m.members().Members {
		if member.Node != node || !member.Runs() {
			continue
		}
		if m.hashes[node] != member.PodHash() && !m.off[node] {
			m.start(node, member.PodHash())
		}
		m.connect()
		m.report(node)
	}
}

// start starts the pod on a node with what is in its Secret at that moment, if there is one.
func (m *model) start(node, hash string) {
	m.t.Helper()
	m.disconnect(node)
	var s corev1.Secret
	if m.api.Get(m.t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.MemberSecret(node)}, &s) != nil {
		return
	}
	m.hashes[node], m.loaded[node] = hash, certs.Salvage(s.Data[etcdcluster.BundleKey])
}

func (m *model) disconnect(node string) {
	for pair := range m.connected {
		if pair[0] == node || pair[1] == node {
			delete(m.connected, pair)
		}
	}
}

// crash ends the process on a node; the kubelet starts it again as it was.
func (m *model) crash(node string) {
	m.t.Helper()
	if hash := m.hashes[node]; hash != "" {
		m.start(node, hash)
	}
}

// switchOff stops a node until switchOn.
func (m *model) switchOff(node string) {
	m.off[node] = true
	m.disconnect(node)
	delete(m.hashes, node)
}

func (m *model) switchOn(node string) { delete(m.off, node) }

func (m *model) connect() {
	nodes := []string{"a", "b", "c"}
	for i, x := range nodes {
		for _, y := range nodes[i+1:] {
			if m.hashes[x] != "" && m.hashes[y] != "" && m.accepts(x, cluster.MemberSecret(y)) && m.accepts(y, cluster.MemberSecret(x)) {
				m.connected[[2]string{x, y}] = true
			}
		}
	}
}

// ready reports whether a member sees a quorum.
func (m *model) ready(node string) bool {
	voters, seen := 0, 0
	for _, member := range m.members().Members {
		if !member.Votes() {
			continue
		}
		voters++
		if m.hashes[node] != "" && (member.Node == node || m.connected[[2]string{min(node, member.Node), max(node, member.Node)}]) {
			seen++
		}
	}
	return 2*seen > voters
}

func (m *model) report(node string) {
	m.t.Helper()
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = cluster.Namespace, cluster.MemberDeployment(node)
	exists := m.api.Get(m.t.Context(), client.ObjectKeyFromObject(d), d) == nil
	status := appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}
	if m.ready(node) {
		status.AvailableReplicas = 1
	}
	if exists && d.Spec.Template.Annotations[etcdcluster.ConfigHash] == m.hashes[node] && d.Status.AvailableReplicas == status.AvailableReplicas {
		return
	}
	d.Spec.Template.Annotations = map[string]string{etcdcluster.ConfigHash: m.hashes[node]}
	var err error
	if exists {
		err = m.api.Update(m.t.Context(), d)
	} else {
		err = m.api.Create(m.t.Context(), d)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	d.Status = status
	if err := m.api.Status().Update(m.t.Context(), d); err != nil {
		m.t.Fatal(err)
	}
}

// secrets returns the names of the Secrets with certificates of the CA.
func (m *model) secrets() []string {
	out := []string{cluster.RootSecret(), cluster.MemberSecret("a"), cluster.MemberSecret("b"), cluster.MemberSecret("c")}
	if !m.identity {
		out = append(out, cluster.ClientSecret())
	}
	return out
}

// rejected returns the first certificate in a Secret that a running member does not accept.
func (m *model) rejected() string {
	for node := range m.hashes {
		for _, name := range m.secrets() {
			if !m.accepts(node, name) {
				return fmt.Sprintf("the member on node %s rejects the certificate in %s", node, name)
			}
		}
	}
	return ""
}

// stuck returns why the members are not yet all as recorded, with one bundle and connected; empty if they are.
func (m *model) stuck() string {
	all := m.members().Members
	for _, member := range all {
		switch {
		case member.State != etcdcluster.Existing:
			return fmt.Sprintf("%s is %s", member.Name, member.State)
		case m.hashes[member.Node] != member.PodHash():
			return fmt.Sprintf("%s does not run as recorded", member.Name)
		case member.Trust != all[0].Trust:
			return fmt.Sprintf("%s has another bundle than %s", member.Name, all[0].Name)
		case !m.ready(member.Node):
			return fmt.Sprintf("%s is not ready", member.Name)
		}
	}
	if len(all) != 3 {
		return fmt.Sprintf("there are %d members", len(all))
	}
	return m.rejected()
}

func (m *model) converged() {
	m.t.Helper()
	if why := m.stuck(); why != "" {
		m.t.Fatalf("%s: %s; members %+v", m.now.Format(time.DateTime), why, m.members().Members)
	}
}

func (m *model) remove(namespace, name string) {
	m.t.Helper()
	s := &corev1.Secret{}
	s.Namespace, s.Name = namespace, name
	if err := client.IgnoreNotFound(m.api.Delete(m.t.Context(), s)); err != nil {
		m.t.Fatal(err)
	}
}

// signers returns the names of the CAs that have signed what is in the Secrets.
func (m *model) signers() []string {
	m.t.Helper()
	var out []string
	for _, name := range m.secrets() {
		pair, _ := m.leaf(name)
		cert, _, err := pair.Parse()
		if err != nil {
			m.t.Fatal(err)
		}
		out = append(out, cert.Issuer.CommonName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// steps are those in which the model's operator and kubelets act once at most.
const steps = 12

// disturbances are what may happen between any two steps.
func disturbances() map[string]func(m *model) {
	out := map[string]func(m *model){
		"the operator restarts":     (*model).operatorRestarts,
		"the CA is lost once more":  func(m *model) { m.remove(operatorNamespace, cluster.CASecret()) },
		"the whole cluster crashes": func(m *model) { m.crash("a"); m.crash("b"); m.crash("c") },
	}
	for _, node := range []string{"a", "b", "c"} {
		out["the member on node "+node+" crashes"] = func(m *model) { m.crash(node) }
		out["node "+node+" is off for a while"] = func(m *model) {
			m.switchOff(node)
			m.kubelet(node)
			for range 15 {
				m.round("a", "b", "c")
				m.intact()
			}
			m.switchOn(node)
		}
	}
	return out
}

// intact fails the test if a certificate is in use that a running member rejects.
func (m *model) intact() {
	m.t.Helper()
	if why := m.rejected(); why != "" {
		m.t.Fatal(why)
	}
}

// TestALostCAIsReplacedWithoutARejectedCertificate deletes the Secret of the CA, with a disturbance at every step of
// what follows and with kubelets in different orders: no member ever rejects the certificate of another one or of a
// client, and in the end the new CA has signed all of them.
func TestALostCAIsReplacedWithoutARejectedCertificate(t *testing.T) {
	for name, disturb := range disturbances() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range steps {
				loseCA(t, at, [...]string{"abc", "cab", "bca"}[at/3%3], disturb)
			}
		})
	}
}

// loseCA deletes the CA of a model, and disturbs what follows at one of its steps.
func loseCA(t *testing.T, at int, order string, disturb func(*model)) {
	t.Helper()
	m := newModel(t)
	defer m.loop.Close()
	before := m.signers()
	m.remove(operatorNamespace, cluster.CASecret())
	for step := range steps {
		if step == at {
			disturb(m)
		}
		if step%3 == 0 {
			m.operator()
		}
		m.kubelet(order[step%3 : step%3+1])
		m.intact()
	}
	settle := func(rounds int) {
		for range rounds {
			m.round(strings.Split(order, "")...)
			m.intact()
		}
		m.converged()
	}
	settle(25)
	m.now = m.now.Add(etcdmanager.Policy(cluster).Overlap)
	settle(6)
	if after := m.signers(); len(after) != 1 || after[0] == before[0] {
		t.Fatalf("signed by %v, was %v", after, before)
	}
}

// TestMembersRecoverFromTheLossOfAllSecrets deletes the CA and every certificate: the running members then reject what
// the new CA signs, and come together again when most of them have restarted.
func TestMembersRecoverFromTheLossOfAllSecrets(t *testing.T) {
	for _, first := range []string{"a", "b", "c", ""} {
		m := newModel(t)
		m.remove(operatorNamespace, cluster.CASecret())
		for _, name := range m.secrets() {
			m.remove(secretKey(name).Namespace, name)
		}
		if m.operator(); first != "" {
			m.crash(first)
		}
		for range 60 {
			m.round("a", "b", "c")
		}
		m.converged()
	}
}

// TestACertificateThatExpiresDuringTheLossIsReplaced keeps what the lost CA has signed only while it is valid.
func TestACertificateThatExpiresDuringTheLossIsReplaced(t *testing.T) {
	m := newModel(t)
	before := m.signers()
	pair, _ := m.leaf(cluster.ClientSecret())
	cert, _, err := pair.Parse()
	if err != nil {
		t.Fatal(err)
	}
	m.now = cert.NotAfter.Add(-time.Hour)
	m.remove(operatorNamespace, cluster.CASecret())
	for range 60 {
		m.round("a", "b", "c")
		m.intact()
	}
	m.converged()
	if after := m.signers(); len(after) != 1 || after[0] == before[0] {
		t.Errorf("signed by %v, was %v", after, before)
	}
}
