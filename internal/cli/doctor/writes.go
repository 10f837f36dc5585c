package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/redact"
	"github.com/cluster-network-operator/cno/internal/status"
)

// target is an object that the operator writes.
type target struct {
	resource        schema.GroupVersionResource
	kind            string
	namespace, name string
	subresources    []string
}

func (t target) String() string {
	text := t.kind + " " + t.name
	if t.namespace != "" {
		text = t.kind + " " + t.namespace + "/" + t.name
	}
	return strings.Join(append([]string{text}, t.subresources...), ", ")
}

// refused is a dry run that the API server refused.
type refused struct{ object, message string }

// quoted matches the name of the webhook in an error of the API server.
var quoted = regexp.MustCompile(`webhook "([^"]+)"`)

// targets returns the Network with its status, the status memory, and one workload of each kind in each namespace.
func (c *collector) targets(found *collected) []target {
	all := []target{
		{resource: networkObjects, kind: "Network", name: operatorv1.NetworkName},
		{resource: networkObjects, kind: "Network", name: operatorv1.NetworkName, subresources: []string{"status"}},
		{resource: resource("", "v1", "configmaps"), kind: "ConfigMap", namespace: c.namespace, name: status.ConfigMapName},
	}
	for _, ns := range c.namespaces() {
		for _, w := range []target{{resource: daemonSets, kind: "DaemonSet"}, {resource: deployments, kind: "Deployment"}} {
			if items := found.objects[ns+"/"+w.resource.Resource]; len(items) > 0 {
				w.namespace, w.name = ns, name(items[0])
				all = append(all, w)
			}
		}
	}
	return all
}

// tryWrites sends empty patches as dry runs, whose errors show what prevents the operator from writing. Objects that do not
// exist are skipped.
func (c *collector) tryWrites(ctx context.Context, found *collected) {
	var group errgroup.Group
	group.SetLimit(parallel)
	var mu sync.Mutex
	for _, t := range c.targets(found) {
		group.Go(func() error {
			var r dynamic.ResourceInterface = c.api.Resource(t.resource)
			if t.namespace != "" {
				r = c.api.Resource(t.resource).Namespace(t.namespace)
			}
			_, err := r.Patch(ctx, t.name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, t.subresources...)
			if err == nil || apierrors.IsNotFound(err) {
				return nil
			}
			if !quoted.MatchString(err.Error()) {
				found.miss("dry run of a write to "+t.String(), err)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			found.refused = append(found.refused, refused{t.String(), redact.Text(err.Error())})
			return nil
		})
	}
	_ = group.Wait() // each refusal is recorded
	slices.SortFunc(found.refused, func(a, b refused) int { return strings.Compare(a.object, b.object) })
	if len(found.refused) > 0 {
		found.miss("webhook configurations", c.readWebhooks(ctx, found))
	}
}

// readWebhooks maps each webhook to its configuration.
func (c *collector) readWebhooks(ctx context.Context, found *collected) error {
	found.webhooks = map[string]string{}
	validating, err := c.typed.AdmissionregistrationV1.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, w := range validating.Items {
		for _, hook := range w.Webhooks {
			found.webhooks[hook.Name] = "validatingwebhookconfiguration " + w.Name
		}
	}
	mutating, err := c.typed.AdmissionregistrationV1.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, w := range mutating.Items {
		for _, hook := range w.Webhooks {
			found.webhooks[hook.Name] = "mutatingwebhookconfiguration " + w.Name
		}
	}
	return nil
}

// writeFindings reports the webhooks that prevent the operator from writing, one finding for each.
func writeFindings(f *collected) []Finding {
	objects, causes := map[string][]string{}, map[string]string{}
	var order []string
	for _, r := range f.refused {
		hook := quoted.FindStringSubmatch(r.message)[1]
		if causes[hook] == "" {
			order, causes[hook] = append(order, hook), r.message
		}
		objects[hook] = append(objects[hook], r.object)
	}
	var all []Finding
	for _, hook := range order {
		wayOut := fmt.Sprintf("repair the server of webhook %q", hook)
		if configuration := f.webhooks[hook]; configuration != "" {
			wayOut += ", or delete its configuration: kubectl delete " + configuration
		}
		all = append(all, Finding{Severity: Critical, What: "a webhook keeps the operator from writing: " + some(objects[hook]), Cause: causes[hook], WayOut: wayOut})
	}
	return all
}
