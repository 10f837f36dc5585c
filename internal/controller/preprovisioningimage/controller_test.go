package preprovisioningimage

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
	"github.com/cluster-network-operator/cno/internal/doctest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/logbuffer"
)

const profile = "/etc/NetworkManager/system-connections/eth0.nmconnection"

// notReadyBefore watches an image until it has another URL, and fails the test if it was ready all the time.
func (c *cluster) notReadyBefore(name, url string) func() {
	c.Helper()
	api, err := dynamic.NewForConfig(c.server.Config)
	if err != nil {
		c.Fatal(err)
	}
	kind := preprovisioning.Kind.GroupVersion().WithResource("preprovisioningimages")
	w, err := api.Resource(kind).Namespace(c.namespace).Watch(c.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: c.object(name).GetResourceVersion()})
	if err != nil {
		c.Fatal(err)
	}
	return func() {
		c.Helper()
		defer w.Stop()
		flipped := false
		for e := range w.ResultChan() {
			image, err := preprovisioning.Decode(e.Object.(*unstructured.Unstructured))
			if err != nil {
				c.Fatal(err)
			}
			ready := meta.IsStatusConditionTrue(image.Status.Conditions, preprovisioning.ConditionReady)
			flipped = flipped || !ready && image.Status.ImageURL == url
			if image.Status.ImageURL != url {
				if !flipped {
					c.Error("the URL changed while the image was ready")
				}
				return
			}
		}
		c.Error("the watch ended")
	}
}

func TestAnObjectAndItsSecretBecomeAnImage(t *testing.T) {
	c := newCluster(t)
	r := c.replica().start()
	c.secret("a-network-config-secret", "nmstate", anyDHCP)
	c.image("a", "a-network-config-secret")
	c.image("none", "")
	first := c.becomesAvailable("a")
	if first.Format != "iso" || first.KernelURL != "" || first.ExtraKernelParams != "" || !strings.HasSuffix(first.ImageURL, "/a.iso") {
		t.Errorf("the status is %s", show(first))
	}
	files := r.files(first.ImageURL)
	if files["/etc/ironic-python-agent.conf"] != "agent" || !strings.Contains(files[profile], "method=auto") {
		t.Errorf("the host gets %v", files)
	}
	if files := r.files(c.becomesAvailable("none").ImageURL); len(files) != 1 {
		t.Errorf("without a Secret there is no network configuration, and the host gets %v", files)
	}

	flips := c.notReadyBefore("a", first.ImageURL)
	c.secret("a-network-config-secret", "nmstate", static)
	second := c.becomesAvailable("a")
	flips()
	if second.ImageURL == first.ImageURL || second.NetworkData.Version == first.NetworkData.Version {
		t.Errorf("first %s, then %s", show(first), show(second))
	}
	if files := r.files(second.ImageURL); !strings.Contains(files[profile], "192.0.2.9/24") {
		t.Errorf("the host gets %v", files)
	}
	if files := r.files(first.ImageURL); !strings.Contains(files[profile], "method=auto") {
		t.Errorf("a host that boots from the former image gets %v", files)
	}

	if err := c.api.Delete(t.Context(), c.object("a")); err != nil {
		t.Fatal(err)
	}
	eventually.Is(t, "images of a deleted object are no longer served", func() bool { return r.get(first.ImageURL) == nil && r.get(second.ImageURL) == nil })
	if got := string(r.get(r.web.URL + "/metrics")); !strings.Contains(got, `host_image_server_preprovisioning_images{state="ready"} 1`) || !strings.Contains(got, "host_image_server_leader 1") {
		t.Errorf("metrics: %s", got)
	}
}

func TestTheExampleOfThePageIsServed(t *testing.T) {
	c := newCluster(t)
	r := c.replica().start()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := doctest.Blocks(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		objects, err := b.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if b.File == "docs/programs/host-image-server.md" {
				o.SetNamespace(c.namespace)
				c.server.Create(t, o)
			}
		}
	}
	files := r.files(c.becomesAvailable("worker-0").ImageURL)
	if got := files["/etc/NetworkManager/system-connections/enp2s0.nmconnection"]; !strings.Contains(got, "192.168.111.113/24") {
		t.Errorf("the host gets %v", files)
	}
}

func TestAnInitramfsHasAKernelAndItsParameters(t *testing.T) {
	c := newCluster(t)
	r := c.replica()
	r.options.Kernel = r.options.Initramfs
	r.start()
	c.secret("s", "nmstate", static)
	c.image("a", "s", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(u.Object, []string{"initrd", "iso"}, "spec", "acceptFormats")
	})
	s := c.becomesAvailable("a")
	if s.Format != "initrd" || s.ExtraKernelParams != r.settings.KernelParams || r.get(s.KernelURL) == nil {
		t.Errorf("the status is %s", show(s))
	}
	if files := r.files(s.ImageURL); !strings.Contains(files[profile], "192.0.2.9/24") {
		t.Errorf("the host gets %v", files)
	}
}

func TestURLsSurviveARestart(t *testing.T) {
	c := newCluster(t)
	r := c.replica().start()
	c.secret("s", "nmstate", static)
	c.image("a", "s")
	before := c.becomesAvailable("a")
	image, version := r.get(before.ImageURL), c.object("a").GetResourceVersion()
	r.stop()
	r.start()
	eventually.Is(t, "the URL is served again", func() bool { return string(r.get(before.ImageURL)) == string(image) })
	eventually.Is(t, "the replica has the lease again", func() bool {
		return strings.Contains(string(r.get(r.web.URL+"/metrics")), "host_image_server_leader 1")
	})
	if got := c.object("a"); got.GetResourceVersion() != version {
		t.Errorf("the object was written: %s", show(c.read("a").Status))
	}

	r.stop()
	r.options.URLKey = strings.Repeat("k", 32)
	flips := c.notReadyBefore("a", before.ImageURL)
	r.start()
	flips()
	if after := c.becomesAvailable("a"); after.ImageURL == before.ImageURL || r.get(before.ImageURL) != nil {
		t.Errorf("with another key, %s", show(after))
	}
}

func TestInvalidObjectAffectsNoOther(t *testing.T) {
	c := newCluster(t)
	c.secret("good", "nmstate", static)
	c.secret("ovs", "nmstate", withOVS)
	c.secret("syntax", "nmstate", "interfaces: [")
	c.secret("binary", "nmstate", "\x00\xff")
	c.secret("other", "networkData", static)
	c.image("ovs", "ovs")
	c.image("syntax", "syntax")
	c.image("binary", "binary")
	c.image("other", "other")
	c.image("missing", "missing")
	c.image("path", "../secrets/good")
	c.image("arm", "good", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "aarch64", "spec", "architecture")
	})
	c.image("formats", "good", func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "acceptFormats") })
	c.image("good", "good")
	r := c.replica().start()
	r.files(c.becomesAvailable("good").ImageURL)
	c.fails("ovs", preprovisioning.ImageBuildInvalid, "ovs:2: interfaces[0].type: br-ex is of type ovs-bridge: Open vSwitch is not available before the boot")
	c.fails("syntax", preprovisioning.ImageBuildInvalid, "syntax:")
	c.fails("binary", preprovisioning.ImageBuildInvalid, "binary")
	c.fails("other", preprovisioning.ImageBuildInvalid, "Secret other has no key nmstate, only networkData")
	c.fails("missing", preprovisioning.MissingNetworkData, "Secret missing does not exist in namespace "+c.namespace)
	c.fails("arm", preprovisioning.ConfigurationError, "spec.architecture is aarch64")
	c.fails("formats", preprovisioning.ConfigurationError, "spec.acceptFormats is []")
	if s := c.read("path").Status; s.ImageURL != "" {
		t.Errorf("a name that is none has %s", show(s))
	}
	eventually.Is(t, "the error is an event", func() bool {
		list := &eventsv1.EventList{}
		if err := c.api.List(t.Context(), list, client.InNamespace(c.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Regarding.Name == "ovs" && e.Reason == preprovisioning.ImageBuildInvalid && strings.Contains(e.Note, "interfaces[0].type") {
				return true
			}
		}
		return false
	})
	// Each is repaired by what its message names.
	c.secret("ovs", "nmstate", static)
	c.secret("missing", "nmstate", static)
	c.secret("other", "nmstate", static)
	for _, name := range []string{"ovs", "missing", "other"} {
		r.files(c.becomesAvailable(name).ImageURL)
	}
	// What becomes invalid loses its image.
	c.secret("good", "nmstate", withOVS)
	c.fails("good", preprovisioning.ImageBuildInvalid, "good:2:")
}

func TestImagesOfAnotherControllerAreIgnored(t *testing.T) {
	c := newCluster(t)
	c.secret("s", "nmstate", static)
	c.image("assisted", "s", func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{"infraenvs.agent-install.openshift.io": "x"})
	})
	c.image("customized", "s")
	c.image("mine", "s")
	asOther := func(name, url string) string {
		t.Helper()
		u := c.object(name)
		apitest.ChangeStatus(t, c.api, u, func() {
			if err := preprovisioning.Encode(preprovisioning.Status{ImageURL: url}, u); err != nil {
				t.Fatal(err)
			}
		}, client.FieldOwner("machine-image-customization-controller"))
		return u.GetResourceVersion()
	}
	version := asOther("customized", "http://other")
	r := c.replica().start()
	own := c.becomesAvailable("mine")
	eventually.Is(t, "both are counted", func() bool {
		return strings.Contains(string(r.get(r.web.URL+"/metrics")), `host_image_server_preprovisioning_images{state="left"} 2`)
	})
	if got := c.object("customized"); got.GetResourceVersion() != version {
		t.Errorf("it was written: %s", show(c.read("customized").Status))
	}
	if s := c.read("assisted").Status; s.ImageURL != "" || len(s.Conditions) > 0 {
		t.Errorf("it was written: %s", show(s))
	}
	eventually.Is(t, "an event names the manager and the way out", func() bool {
		list := &eventsv1.EventList{}
		if err := c.api.List(t.Context(), list, client.InNamespace(c.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Regarding.Name == "customized" && e.Reason == reasonOtherManager && strings.Contains(e.Note, "machine-image-customization-controller") && strings.Contains(e.Note, "--subresource=status") {
				return true
			}
		}
		return false
	})

	version = asOther("mine", "http://other")
	eventually.Is(t, "what another controller takes is no longer served", func() bool { return r.get(own.ImageURL) == nil })
	c.secret("s", "nmstate", anyDHCP)
	eventually.Stays(t, time.Second, "there is no fight", func() (string, bool) {
		got := c.object("mine").GetResourceVersion()
		return got, got == version
	})

	// The command of the event.
	if err := c.api.Status().Patch(t.Context(), c.object("customized"), client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)), client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatal(err)
	}
	r.files(c.becomesAvailable("customized").ImageURL)
}

func TestOneReplicaWritesAndAllServe(t *testing.T) {
	c := newCluster(t)
	c.secret("s", "nmstate", static)
	c.image("a", "s")
	first := c.replica().start()
	before := c.becomesAvailable("a")
	other := c.replica().start()
	at := func(r *replica, url string) string {
		_, path, _ := strings.Cut(url, "/images/")
		return r.web.URL + "/images/" + path
	}
	eventually.Is(t, "the other one serves the same path", func() bool { return other.get(at(other, before.ImageURL)) != nil })
	if !strings.HasPrefix(before.ImageURL, first.web.URL) {
		t.Errorf("the URL is %s", before.ImageURL)
	}
	c.secret("s", "nmstate", anyDHCP)
	if s := c.becomesAvailable("a"); !strings.HasPrefix(s.ImageURL, first.web.URL) {
		t.Errorf("one without the lease wrote: %s", show(s))
	}
	first.stop()
	eventually.Is(t, "the other one takes over", func() bool { return strings.HasPrefix(c.becomesAvailable("a").ImageURL, other.web.URL) })
	if files := other.files(c.read("a").Status.ImageURL); !strings.Contains(files[profile], "method=auto") {
		t.Errorf("the host gets %v", files)
	}
}

func TestTheAccountReadsSecretsByNameOnly(t *testing.T) {
	c := newCluster(t)
	c.secret("s", "nmstate", static)
	api, err := c.server.ClientFor(c.server.ServiceAccount(t, c.lease, "host-image-server"))
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "s"}, &corev1.Secret{}); err != nil {
		t.Error(err)
	}
	if err := api.List(t.Context(), &corev1.SecretList{}, client.InNamespace(c.namespace)); err == nil {
		t.Error("it lists Secrets")
	}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: c.lease, Name: "s"}, &corev1.Secret{}); !strings.Contains(errText(err), "forbidden") {
		t.Errorf("Secrets of its own namespace: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestUnreachableAPIServerStopsNothing(t *testing.T) {
	log := &logbuffer.Buffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{Settings: Settings{Namespaces: []string{"x"}}, Kube: &rest.Config{Host: "https://127.0.0.1:1"}, Metrics: prometheus.NewRegistry(),
			LeaseNamespace: "x", Node: "x", Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	eventually.Is(t, "it reports that", func() bool { return strings.Contains(log.String(), "served images stay available") })
	select {
	case err := <-ended:
		t.Errorf("it ended: %v", err)
	default:
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
