package preprovisioningimage

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/ignition/v2/config/v3_2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/cpiotest"
	"github.com/cluster-network-operator/cno/internal/dayone/bootimage/isotest"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition/ignitiontest"
	"github.com/cluster-network-operator/cno/internal/dayone/imageserver"
	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
	"github.com/cluster-network-operator/cno/internal/doctest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/logbuffer"
)

const (
	urlKey   = "0123456789abcdef0123456789abcdef"
	anyDHCP  = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]\n"
	static   = "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}]\n"
	withOVS  = "interfaces:\n- {name: br-ex, type: ovs-bridge, state: up}\n"
	manifest = "../../../config/host-image-server"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{CRDs: apitest.ReadCRDs("internal/controller/preprovisioningimage/testdata"), WithoutProjectCRDs: true})
}

// cluster is an API server with a namespace of hosts, in which the account of the manifests has the permissions of the manifests.
type cluster struct {
	*testing.T
	server           *apitest.Server
	api              client.Client
	namespace, lease string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	c := &cluster{T: t, server: server, api: server.Client, namespace: server.Namespace(t), lease: server.Namespace(t)}
	for file, namespace := range map[string]string{"rbac.yaml": c.lease, "images.yaml": c.namespace} {
		content, err := os.ReadFile(filepath.Join(manifest, file))
		if err != nil {
			t.Fatal(err)
		}
		// The subject of both bindings is the account in the namespace of the lease.
		objects, err := doctest.Objects(bytes.ReplaceAll(content, []byte("namespace: host-image-server"), []byte("namespace: "+c.lease)))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			o.SetNamespace(namespace)
			server.Create(t, o)
		}
	}
	return c
}

// replica is an image server with the controller, whose URLs survive restarts.
type replica struct {
	*cluster
	web       *httptest.Server
	handler   atomic.Pointer[http.Handler]
	iso       []byte
	initramfs []byte
	options   imageserver.Options
	settings  Settings
	log       *logbuffer.Buffer
	stop      func()
}

// replica returns one that does not run yet.
func (c *cluster) replica() *replica {
	c.Helper()
	r := &replica{cluster: c, iso: isotest.Image(isotest.CoreOS(100_000)), initramfs: isotest.Noise(50_001), log: &logbuffer.Buffer{}}
	r.web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if h := r.handler.Load(); h != nil {
			(*h).ServeHTTP(w, q)
			return
		}
		http.Error(w, "not running", http.StatusBadGateway)
	}))
	r.web.StartTLS()
	c.Cleanup(r.web.Close)
	dir := c.TempDir()
	base := ignition.Config([]ignition.File{{Path: "/etc/ironic-python-agent.conf", Mode: 0o644, Content: []byte("agent")}})
	r.options = imageserver.Options{
		ISO: filepath.Join(dir, "base.iso"), Initramfs: filepath.Join(dir, "base.img"), Base: &base, URL: r.web.URL, URLKey: urlKey, Retain: time.Hour,
		Now: time.Now, Random: rand.Reader, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for path, content := range map[string][]byte{r.options.ISO: r.iso, r.options.Initramfs: r.initramfs} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			c.Fatal(err)
		}
	}
	r.settings = Settings{
		Namespaces: []string{c.namespace}, KernelParams: "coreos.live.rootfs_url=https://example.com/rootfs", Interval: 100 * time.Millisecond,
		Offering: preprovisioning.Offering{Formats: []preprovisioning.Format{preprovisioning.ISO, preprovisioning.Initrd}, Architecture: "x86_64"},
	}
	return r
}

// start runs the replica until stop, or the end of the test.
func (r *replica) start() *replica {
	r.Helper()
	server, err := imageserver.New(r.options)
	if err != nil {
		r.Fatal(err)
	}
	handler := server.Handler()
	r.handler.Store(&handler)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{
			Settings: r.settings, Kube: r.server.ServiceAccount(r, r.lease, "host-image-server"), Server: server, Metrics: server.Registry(),
			LeaseNamespace: r.lease, Node: "node", Now: time.Now, Log: r.options.Log,
		})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		r.handler.Store(nil)
		if err := <-ended; err != nil {
			r.Error(err)
		}
		if err := server.Close(); err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(func() {
		r.stop()
		if r.Failed() {
			r.Logf("the log of a replica:\n%s", r.log)
		}
	})
	return r
}

// image creates a PreprovisioningImage as metal3 does. An empty secret is none.
func (c *cluster) image(name, secret string, change ...func(*unstructured.Unstructured)) {
	c.Helper()
	spec := map[string]any{"architecture": "x86_64", "acceptFormats": []any{"iso", "initrd"}}
	if secret != "" {
		spec["networkDataName"] = secret
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(preprovisioning.Kind)
	u.SetNamespace(c.namespace)
	u.SetName(name)
	for _, f := range change {
		f(u)
	}
	c.server.Create(c, u)
}

// secret creates or changes a Secret with a document.
func (c *cluster) secret(name, key, document string) {
	c.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Data: map[string][]byte{key: []byte(document)}}
	if err := c.api.Update(c.Context(), s.DeepCopy()); err == nil {
		return
	}
	c.server.Create(c, s)
}

func (c *cluster) object(name string) *unstructured.Unstructured {
	c.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(preprovisioning.Kind)
	if err := c.api.Get(c.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, u); err != nil {
		c.Fatal(err)
	}
	return u
}

func (c *cluster) read(name string) *preprovisioning.Image {
	c.Helper()
	image, err := preprovisioning.Decode(c.object(name))
	if err != nil {
		c.Fatal(err)
	}
	return image
}

// available reports whether metal3 boots a host from an image: the rules of its controller of BareMetalHosts.
func (c *cluster) available(i *preprovisioning.Image) bool {
	ready := meta.FindStatusCondition(i.Status.Conditions, preprovisioning.ConditionReady)
	version := ""
	if i.Spec.NetworkDataName != "" {
		s := &corev1.Secret{}
		if err := c.api.Get(c.Context(), client.ObjectKey{Namespace: c.namespace, Name: i.Spec.NetworkDataName}, s); err != nil {
			return false
		}
		version = s.ResourceVersion
	}
	return i.Status.Architecture == i.Spec.Architecture && i.Status.NetworkData == preprovisioning.NetworkData{Name: i.Spec.NetworkDataName, Version: version} &&
		!meta.IsStatusConditionTrue(i.Status.Conditions, preprovisioning.ConditionError) &&
		ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == i.Generation
}

// becomesAvailable waits until metal3 would boot the host.
func (c *cluster) becomesAvailable(name string) preprovisioning.Status {
	c.Helper()
	var image *preprovisioning.Image
	eventually.IsOrShow(c, eventually.Limit, name+" becomes available", func() bool { image = c.read(name); return c.available(image) },
		func() string { return show(image.Status) })
	return image.Status
}

// fails waits for an error with a reason and a part of its message.
func (c *cluster) fails(name, reason, message string) {
	c.Helper()
	var image *preprovisioning.Image
	eventually.IsOrShow(c, eventually.Limit, name+" has error "+reason, func() bool {
		image = c.read(name)
		e := meta.FindStatusCondition(image.Status.Conditions, preprovisioning.ConditionError)
		return e != nil && e.Status == metav1.ConditionTrue && e.Reason == reason && strings.Contains(e.Message, message) &&
			meta.IsStatusConditionFalse(image.Status.Conditions, preprovisioning.ConditionReady) && image.Status.ImageURL == ""
	}, func() string { return show(image.Status) })
}

func show(s preprovisioning.Status) string {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	_ = preprovisioning.Encode(s, u)
	text, _ := u.MarshalJSON()
	return string(text)
}

// get fetches a URL, and returns nil for one that is not served.
func (r *replica) get(url string) []byte {
	r.Helper()
	res, err := r.web.Client().Get(url)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		return nil
	}
	return body
}

// files are what Ignition of a host that boots from a URL writes, by path.
func (r *replica) files(url string) map[string]string {
	r.Helper()
	image := r.get(url)
	if image == nil {
		r.Fatalf("%s is not served", url)
	}
	payload := image[min(len(image), (len(r.initramfs)+3)/4*4):]
	if strings.HasSuffix(url, ".iso") {
		area, err := bootimage.FindArea(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			r.Fatal(err)
		}
		payload = image[area.Offset : area.Offset+area.Length]
	}
	packed, err := cpiotest.Unpack(payload)
	if err != nil {
		r.Fatal(err)
	}
	config, _, err := ignition.Parse(packed[0].Content)
	if err != nil {
		r.Fatal(err)
	}
	return written(r, config)
}

func written(t testing.TB, config types.Config) map[string]string {
	t.Helper()
	files, err := ignitiontest.Files(config)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Content)
	}
	return out
}
