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

// lookAgain is after how long it is read again what no watch reports: namespaces of users, and the pods that use a removed network.
const lookAgain = time.Minute

// observed is what rendering needs to know of the cluster. Without a cluster it is zero, but for bridges and thirdParty.
type observed struct {
	bridges []string
	// thirdParty is true if the pod network is one of a third party.
	thirdParty bool
	// foreign are the CRDs that are not the operator's, by name.
	foreign map[string]bool
	// image is the one of the daemons, empty if there are none.
	image string
	// missing are the namespaces of additional networks that do not exist.
	missing map[string]bool
	// used are the networks that were removed from the specification while pods use them.
	used []usedNetwork
}

// usedNetwork is a removed network with the pods that use it, as namespace/name.
type usedNetwork struct {
	network
	pods []string
}

// Observe reads which CRDs are not the operator's, what was rendered before, and whether that is still needed.
func (c Component) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	o := observed{bridges: c.bridges, thirdParty: !slices.Contains(c.types, spec.DefaultNetwork.Type)}
	if r == nil {
		return o, nil
	}
	var err error
	if o.foreign, err = foreignDefinitions(ctx, r); err != nil {
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

// record reads what was rendered last: it sets the image, and returns the networks.
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
	// A key that is missing or damaged lists no network: what it listed is then deleted without asking for pods.
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

// missingNamespaces are those of additional networks that do not exist. The two that always do are not read.
func missingNamespaces(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (map[string]bool, error) {
	missing := map[string]bool{}
	for i := range spec.AdditionalNetworks {
		name := keyOf(spec.AdditionalNetworks[i]).Namespace
		if _, known := missing[name]; known || name == metav1.NamespaceDefault || name == Namespace {
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

// usedNetworks are those of some networks of the operator that pods use, in the order of their names.
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

// page is how many pods are read at once.
const page = 500

// usersOf are the pods that ask for some networks, by network. Pods that have ended use none.
func usersOf(ctx context.Context, r client.Reader, networks map[client.ObjectKey]bool) (map[client.ObjectKey][]string, error) {
	users := map[client.ObjectKey][]string{}
	for next := ""; ; {
		var pods corev1.PodList
		if err := r.List(ctx, &pods, client.Limit(page), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the pods that use removed networks: %w", err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			for _, key := range asksFor(p) {
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

// asksFor are the networks that a pod asks for. One that cannot be read asks for none: such a pod has none.
func asksFor(p *corev1.Pod) []client.ObjectKey {
	var keys []client.ObjectKey
	for _, annotation := range []string{selection.Annotation, wire.AnnotationDefault} {
		selected, errs := selection.Parse(p.Annotations[annotation], p.Namespace)
		if len(errs) > 0 {
			continue
		}
		for _, s := range selected {
			keys = append(keys, client.ObjectKey{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return keys
}

// problems says what of the specification is not served.
func (o observed) problems() []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(o.missing)) {
		if o.missing[name] {
			problems = append(problems, fmt.Sprintf("namespace %s does not exist, so that its additional networks cannot be created; create it, or change spec.additionalNetworks", name))
		}
	}
	for _, u := range o.used {
		problems = append(problems, fmt.Sprintf("%s %s was removed from spec.additionalNetworks and is kept while pods use it: %s", attachmentKind, u.key, phrase.Names(u.pods, named)))
	}
	return problems
}

// again is after how long the cluster is to be observed again although no event occurs.
func (o observed) again() time.Duration {
	if len(o.problems()) > 0 {
		return lookAgain
	}
	return 0
}

// named is how many pods a sentence names.
const named = 5
