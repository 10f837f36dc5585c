package multus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// observeInterval is how often state without a watch is read: namespaces of users, and the pods that use a removed network.
const observeInterval = time.Minute

// observed is the cluster state that Render depends on. Without a cluster it is zero except for operands and thirdParty.
type observed struct {
	// operands are those of the installable networks.
	operands provider.Operands
	// thirdParty is true if a third party provides the pod network.
	thirdParty bool
	// foreign are the CRDs that the operator does not own, by name.
	foreign map[string]bool
	// image is the current image of the daemons; empty if there are none.
	image string
	// missing are the namespaces of additional networks that do not exist.
	missing map[string]bool
	// used are the networks that were removed from the specification but are still used by pods.
	used []usedNetwork
}

// usedNetwork is a removed network with the pods that use it, as namespace/name.
type usedNetwork struct {
	network
	pods []string
}

// Observe reads which CRDs the operator does not own, and which previously rendered networks are still in use.
func (c Component) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	o := observed{operands: c.operands, thirdParty: !slices.Contains(c.types, spec.DefaultNetwork.Type)}
	if r == nil {
		return o, nil
	}
	var err error
	if o.foreign, err = foreignCRDs(ctx, r); err != nil {
		return nil, err
	}
	before, err := o.record(ctx, r)
	if err != nil {
		return nil, err
	}
	direct := provider.Direct(r)
	if o.missing, err = missingNamespaces(ctx, direct, spec); err != nil {
		return nil, err
	}
	for i := range spec.AdditionalNetworks {
		delete(before, keyOf(spec.AdditionalNetworks[i]))
	}
	if o.used, err = usedNetworks(ctx, direct, before); err != nil {
		return nil, err
	}
	return o, nil
}

// record reads the record of the last rendering: it sets the image, and returns the networks.
func (o *observed) record(ctx context.Context, r client.Reader) (map[client.ObjectKey]bool, error) {
	var cm corev1.ConfigMap
	networks := map[client.ObjectKey]bool{}
	err := r.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: configMap}, &cm)
	if apierrors.IsNotFound(err) {
		return networks, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", Namespace, configMap, err)
	}
	o.image = cm.Data[imageKey]
	var names []string
	// A missing or invalid key lists no networks: those that it listed are deleted without checking for pods.
	if json.Unmarshal([]byte(cm.Data[recordKey]), &names) != nil {
		return networks, nil
	}
	for _, name := range names {
		if namespace, name, ok := strings.Cut(name, "/"); ok {
			networks[client.ObjectKey{Namespace: namespace, Name: name}] = true
		}
	}
	return networks, nil
}

// missingNamespaces returns the namespaces of additional networks that do not exist. It skips the two that always exist.
func missingNamespaces(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (map[string]bool, error) {
	missing := map[string]bool{}
	for i := range spec.AdditionalNetworks {
		name := keyOf(spec.AdditionalNetworks[i]).Namespace
		if _, found := missing[name]; found || name == metav1.NamespaceDefault || name == Namespace {
			continue
		}
		ns := &metav1.PartialObjectMetadata{}
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := r.Get(ctx, client.ObjectKey{Name: name}, ns)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read namespace %s: %w", name, err)
		}
		missing[name] = err != nil
	}
	return missing, nil
}

// usedNetworks returns the operator's networks in removed that pods use, sorted by name.
func usedNetworks(ctx context.Context, r client.Reader, removed map[client.ObjectKey]bool) ([]usedNetwork, error) {
	if len(removed) == 0 {
		return nil, nil
	}
	users, err := usersOf(ctx, r, removed)
	if err != nil {
		return nil, err
	}
	var used []usedNetwork
	for _, key := range slices.SortedFunc(maps.Keys(users), func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) }) {
		live := &unstructured.Unstructured{}
		live.SetAPIVersion(attachmentVersion)
		live.SetKind(attachmentKind)
		err := r.Get(ctx, key, live)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || err == nil && live.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", attachmentKind, key, err)
		}
		config, _, _ := unstructured.NestedString(live.Object, "spec", "config")
		slices.Sort(users[key])
		used = append(used, usedNetwork{network{key, config}, users[key]})
	}
	return used, nil
}

// pageSize is the number of pods read at a time.
const pageSize = 500

// isTerminated reports whether the containers of a pod have ended for good.
func isTerminated(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// usersOf returns the pods that request networks, by network. It omits terminated pods.
func usersOf(ctx context.Context, r client.Reader, networks map[client.ObjectKey]bool) (map[client.ObjectKey][]string, error) {
	users := map[client.ObjectKey][]string{}
	for next := ""; ; {
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the pods that use removed networks: %w", err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if isTerminated(p) {
				continue
			}
			for _, key := range requestedNetworks(p) {
				if name := p.Namespace + "/" + p.Name; networks[key] && !slices.Contains(users[key], name) {
					users[key] = append(users[key], name)
				}
			}
		}
		if next = pods.Continue; next == "" {
			return users, nil
		}
	}
}

// requestedNetworks returns the networks that a pod requests. It ignores invalid annotations, with which a pod gets no networks.
func requestedNetworks(p *corev1.Pod) []client.ObjectKey {
	var keys []client.ObjectKey
	selected, _ := selection.Parse(p.Annotations[selection.Annotation], p.Namespace)
	if fallback, _ := selection.ParseDefault(p.Annotations[wire.AnnotationDefault], Namespace); fallback != nil {
		selected = append(selected, *fallback)
	}
	for _, s := range selected {
		keys = append(keys, client.ObjectKey{Namespace: s.Namespace, Name: s.Name})
	}
	return keys
}

// problems returns sentences on the parts of the specification that are not applied.
func (o observed) problems() []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(o.missing)) {
		if o.missing[name] {
			problems = append(problems, fmt.Sprintf("namespace %s does not exist, so that its additional networks cannot be created; create it, or change spec.additionalNetworks", name))
		}
	}
	for _, u := range o.used {
		problems = append(problems, fmt.Sprintf("%s %s was removed from spec.additionalNetworks and is kept while pods use it: %s", attachmentKind, u.key, phrase.Names(u.pods, maxNamed)))
	}
	return problems
}

// requeueAfter returns the time after which the cluster must be observed again without an event.
func (o observed) requeueAfter() time.Duration {
	if len(o.problems()) > 0 {
		return observeInterval
	}
	return 0
}

// maxNamed is the maximum number of pods in a message.
const maxNamed = 5
