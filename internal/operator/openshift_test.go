package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

// optional are the kinds that loops use where they are served, and the objects of them that a new cluster has.
var optional = []struct {
	name, bootstrapped string
}{
	{"apiservers.config.openshift.io", "APIServer"},
	{"clusteroperators.config.openshift.io", "ClusterOperator"},
	{"featuregates.config.openshift.io", ""},
	{"infrastructures.config.openshift.io", "Infrastructure"},
	{"networks.config.openshift.io", "Network"},
	{"proxies.config.openshift.io", "Proxy"},
	{"machineconfigpools.machineconfiguration.openshift.io", "MachineConfigPool"},
	{"machineconfigs.machineconfiguration.openshift.io", ""},
	{"ingresscontrollers.operator.openshift.io", ""},
	{"podnetworkconnectivitychecks.controlplane.operator.openshift.io", ""},
	{"network-attachment-definitions.k8s.cni.cncf.io", ""},
	{"servicemonitors.monitoring.coreos.com", ""},
	{"prometheusrules.monitoring.coreos.com", ""},
}

// How much there is of an optional kind.
const (
	absent = iota
	served // without an object
	withObjects
)

// TestNetworkInstallsWithAnyOfTheOptionalCRDs installs a network in clusters that have some of the optional kinds and
// not others, so that any two of them occur in every combination; and with the permissions that are shipped.
func TestNetworkInstallsWithAnyOfTheOptionalCRDs(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	objects := bootstrapped(t)
	for _, o := range objects {
		if o.GetKind() == "Namespace" || o.GetKind() == "ConfigMap" {
			c.create(o)
		}
	}
	for _, o := range append(shippedIn(t, "rbac"), shippedIn(t, "openshift")...) { // the network here is none of the operator's own
		c.create(o.(client.Object))
	}
	account := c.ServiceAccount(t, operatorNamespace, serviceAccount)
	for _, row := range pairwise(levels()) {
		var names, described []string
		for i, level := range row {
			if level > absent {
				names = append(names, optional[i].name)
				described = append(described, fmt.Sprintf("%s=%d", strings.SplitN(optional[i].name, ".", 2)[0], level))
			}
		}
		t.Run(strings.Join(described, ","), func(t *testing.T) {
			at := &cluster{Server: c.Server, t: t}
			c.Install(t, names...)
			at.createBorn(objects, row)
			run := at.start(withConfig(account))
			if err := c.Client.Create(t.Context(), newNetwork()); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatal(err)
			}
			at.rolledOut(1)
			at.eventually("the network is available", at.is("Available", osv1.ConditionTrue, "AsExpected"))
			at.eventually("all of it is recorded", at.recorded)
			run.stop()
			at.wipe()
		})
	}
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	refused := map[string]bool{}
	for _, r := range c.Requests(t) {
		if r.User.Username == user && (r.Response.Code == http.StatusForbidden || r.Response.Code == http.StatusUnauthorized) {
			refused[r.Verb+" "+strings.SplitN(r.URI, "?", 2)[0]] = true
		}
	}
	for what := range refused {
		t.Errorf("%s was refused because of missing permissions", what)
	}
}

// TestOperatorRestartsWhenTheTLSProfileChanges: it exits without an error and releases its lease, so
// that the next one has the new settings at once.
func TestOperatorRestartsWhenTheTLSProfileChanges(t *testing.T) {
	c := newCluster(t, apitest.Options{OpenShift: []string{"apiservers.config.openshift.io"}})
	o := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	c.create(o)
	ended := c.until(withLease)
	c.eventually("it works", func() bool { return c.holder() != "" })
	apitest.Change(t, c.Client, o, func() {
		o.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType, Modern: &configv1.ModernTLSProfile{}}
	})
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if holder := c.holder(); holder != "" {
		t.Errorf("the lease is still held by %s", holder)
	}
	next := c.until(withLease)
	c.eventually("the next one works", func() bool { return c.holder() != "" })
	select {
	case err := <-next:
		t.Errorf("the next one ends too: %v", err)
	case <-time.After(time.Second):
	}
}

func withLease(o *Options) { o.WithoutLease = false }

// until runs an operator until it exits or the test ends, and reports how it exited.
func (c *cluster) until(settings ...setting) <-chan error {
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- Run(ctx, c.options(settings...)) }()
	c.t.Cleanup(cancel)
	return ended
}

// holder returns the holder of the lease; empty if there is none.
func (c *cluster) holder() string {
	var lease coordinationv1.Lease
	if c.Client.Get(context.Background(), client.ObjectKey{Namespace: operatorNamespace, Name: leaseName}, &lease) != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// bootstrapped returns the objects of a new OpenShift cluster, for the network of newNetwork.
func bootstrapped(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	network := newNetwork().Spec
	objects, err := openshift.Objects(openshift.Cluster{
		Name: "test", BaseDomain: "example.com", NetworkType: string(network.DefaultNetwork.Type),
		PodNetwork: []netip.Prefix{netip.MustParsePrefix(network.ClusterNetwork[0].CIDR)}, HostPrefix: []int{int(network.ClusterNetwork[0].HostPrefix)},
		ServiceNetwork: []netip.Prefix{netip.MustParsePrefix(network.ServiceNetwork[0])}, MachineNetwork: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		APIServer: netip.MustParseAddrPort("192.0.2.10:6443"), ControlPlanes: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// createBorn creates the objects of the optional kinds that have them in a row. They go with their kinds.
func (c *cluster) createBorn(objects []*unstructured.Unstructured, row []int) {
	c.t.Helper()
	for i, level := range row {
		for _, o := range objects {
			if level == withObjects && o.GetKind() == optional[i].bootstrapped {
				c.create(o.DeepCopy())
			}
		}
	}
}

// wipe removes what makes the next install not the first.
func (c *cluster) wipe() {
	c.t.Helper()
	for _, err := range []error{
		c.Client.Delete(c.t.Context(), &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}),
		c.Client.DeleteAllOf(c.t.Context(), &corev1.ConfigMap{}, client.InNamespace(operatorNamespace)),
		c.Client.DeleteAllOf(c.t.Context(), &corev1.ConfigMap{}, client.InNamespace(fakeNamespace)),
		c.Client.DeleteAllOf(c.t.Context(), &appsv1.DaemonSet{}, client.InNamespace(fakeNamespace)),
	} {
		if client.IgnoreNotFound(err) != nil {
			c.t.Fatal(err)
		}
	}
	c.eventually("the network was deleted", func() bool { return c.network().Name == "" })
}

// shippedIn returns the roles and bindings in a directory of config.
func shippedIn(t *testing.T, directory string) []manifest.Typed {
	t.Helper()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "config", directory)
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []manifest.Typed
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		objects, err := manifest.DecodeAll(os.DirFS(dir), filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}
