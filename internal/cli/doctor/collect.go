package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/redact"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/typedclient"
)

const (
	// parallel is the number of sections that are collected concurrently, page the number of objects per list request.
	parallel = 8
	page     = 500
)

// collector reads a cluster. namespace is that of the operator.
type collector struct {
	api       dynamic.Interface
	typed     *typedclient.Clients
	mapper    meta.RESTMapper
	clock     *kubeconfig.Clock
	namespace string
	operands  provider.Operands
	// examiner returns the Examiner of a network type; nil if there is none. access is its access to the cluster.
	examiner func(operatorv1.NetworkType) provider.Examiner
	access   provider.TraceAccess
}

// collected has the collected data without secrets. Maps are by the name of the section or file.
type collected struct {
	mu      sync.Mutex
	objects map[string][]map[string]any
	logs    map[string][]byte
	missing []string
	// absent are the objects that the operator has applied and that do not exist.
	absent []string
	// lease is that of the operator; nil if it could not be read.
	lease *coordinationv1.Lease
	// refused are the writes that the API server refused in a dry run, webhooks the configuration of each webhook.
	refused  []refused
	webhooks map[string]string
	// symptoms are those that the Examiner of the network has found.
	symptoms []provider.Symptom
	// hostPods are the pods on the host network of all namespaces.
	hostPods []hostPod
	// forbidden are the sections that the user has no permission to read.
	forbidden map[string]bool
	// wayOuts are the remedies for reasons of networks.
	wayOuts []status.WayOut
}

// section is one part of the collection: the objects of a resource, in one namespace or in all.
type section struct {
	resource  schema.GroupVersionResource
	namespace string
	// trim drops large fields that are irrelevant for diagnosis.
	trim func(map[string]any)
}

func (s section) name() string {
	if s.namespace == "" {
		return s.resource.Resource + "." + s.resource.Group
	}
	return s.namespace + "/" + s.resource.Resource
}

// collect reads all sections within a time limit. It returns an error if the cluster is unreachable.
func (c *collector) collect(ctx context.Context, limit time.Duration) (*collected, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.reachable(ctx); err != nil {
		return nil, err
	}
	found := &collected{objects: map[string][]map[string]any{}, logs: map[string][]byte{}, forbidden: map[string]bool{}, wayOuts: c.operands.WayOuts}
	group := errgroup.Group{}
	group.SetLimit(parallel)
	for _, s := range c.sections() {
		group.Go(func() error { found.miss(s.name(), c.read(ctx, s, found)); return nil })
	}
	_ = group.Wait() // each section records its own errors
	var comparing sync.WaitGroup
	comparing.Go(func() { c.examine(ctx, found) })
	c.readLease(ctx, found)
	c.readInventory(ctx, found)
	c.readHostPods(ctx, found)
	c.tryWrites(ctx, found)
	c.readLogs(ctx, found)
	comparing.Wait()
	slices.Sort(found.missing)
	return found, nil
}

// miss records that a section is incomplete. A kind whose API is unavailable has no objects.
func (f *collected) miss(section string, err error) {
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = "it did not come in time"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if apierrors.IsForbidden(err) {
		f.forbidden[section] = true
		why = "no permission: " + why
	}
	f.missing = append(f.missing, redact.Text(fmt.Sprintf("%s: %s", section, why)))
}

// read lists the objects of a section, page by page. Objects that were read before an error are kept.
func (c *collector) read(ctx context.Context, s section, found *collected) error {
	var resource dynamic.ResourceInterface = c.api.Resource(s.resource)
	if s.namespace != "" {
		resource = c.api.Resource(s.resource).Namespace(s.namespace)
	}
	for next := ""; ; {
		list, err := resource.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return err
		}
		items := make([]map[string]any, 0, len(list.Items))
		for i := range list.Items {
			items = append(items, clean(&list.Items[i], s.trim))
		}
		found.mu.Lock()
		found.objects[s.name()] = append(found.objects[s.name()], items...)
		found.mu.Unlock()
		if next = list.GetContinue(); next == "" {
			return ctx.Err()
		}
	}
}

func clean(o *unstructured.Unstructured, trim func(map[string]any)) map[string]any {
	if trim != nil {
		trim(o.Object)
	}
	return redact.Object(o.Object)
}

// encoded returns the file of a section.
func encoded(items []map[string]any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	// One object per line: such a file can be searched, and truncated at any line.
	for _, o := range items {
		if err := enc.Encode(o); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
