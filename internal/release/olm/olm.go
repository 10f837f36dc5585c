// Package olm makes the bundle by which Operator Lifecycle Manager installs a release: a ClusterServiceVersion with the Deployment and
// the permissions of the operator, its CRDs, and what OLM creates beside them. Prerequisites returns what OLM does not create.
package olm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/config"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// Package is the name of the operator in a catalogue.
	Package = "cluster-network-operator"
	// Channel is the channel that has all releases.
	Channel = "stable"
	// Namespace is that of the operator, account its service account.
	Namespace = status.OperatorNamespace
	account   = "cluster-network-operator"
	// imagesName is the ConfigMap of images. In a bundle its name has no hash.
	imagesName = "network-operator-images"
	// MustGather is the image for oc adm must-gather.
	MustGather = "must-gather"
)

// internalObjects are the kinds that only the operator writes: catalogues do not offer to create one, and there is no example.
const internalObjects = `["networkcomponents.networkoperator.openshift.io","networkguards.networkoperator.openshift.io","networknodes.networkoperator.openshift.io","podnetworkconnectivitychecks.controlplane.operator.openshift.io"]`

// Release is what a bundle is made of.
type Release struct {
	Images release.Set
	// Created is the time of the commit.
	Created time.Time
	// Repository is where the sources are.
	Repository string
}

// Files returns the files of the bundle, by their paths.
func (r Release) Files() (map[string][]byte, error) {
	p, err := r.parts()
	if err != nil {
		return nil, err
	}
	version, err := r.clusterServiceVersion(p)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, o := range append(p.objects, version) {
		name := "manifests/" + strings.ToLower(o.GetName()+"_"+o.GetKind()) + ".yaml"
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("two objects are %s", name)
		}
		if out[name], err = yaml.Marshal(o.Object); err != nil {
			return nil, err
		}
	}
	if out["metadata/annotations.yaml"], err = yaml.Marshal(map[string]any{"annotations": annotations()}); err != nil {
		return nil, err
	}
	out["bundle.Dockerfile"] = dockerfile()
	return out, nil
}

// Prerequisites returns the objects of the release that OLM does not create: namespaces, admission policies, and what is in other
// namespaces than that of the operator.
func (r Release) Prerequisites() ([]*unstructured.Unstructured, error) {
	p, err := r.parts()
	return p.prerequisites, err
}

// annotations are those of the bundle, in its metadata and as labels of its image.
func annotations() map[string]string {
	const prefix = "operators.operatorframework.io.bundle."
	return map[string]string{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": Package, prefix + "channels.v1": Channel, prefix + "channel.default.v1": Channel,
	}
}

func dockerfile() []byte {
	var out bytes.Buffer
	out.WriteString("FROM scratch\n")
	all := annotations()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "LABEL %s=%s\n", key, all[key])
	}
	out.WriteString("COPY manifests /manifests/\nCOPY metadata /metadata/\n")
	return out.Bytes()
}

// parts are the objects of a release by where they go.
type parts struct {
	deployment *unstructured.Unstructured
	crds       []*unstructured.Unstructured
	// permissions are the rules in the operator's namespace, clusterPermissions those everywhere.
	permissions, clusterPermissions []rbacv1.PolicyRule
	// objects are the other files of the bundle, with the CRDs.
	objects, prerequisites []*unstructured.Unstructured
}

// parts sorts the objects. Roles that are bound to the operator become permissions in the ClusterServiceVersion.
func (r Release) parts() (parts, error) {
	var p parts
	objects, err := release.Manifests(r.Images, 2)
	if err != nil {
		return p, err
	}
	bound := map[string]bool{}
	for _, o := range objects {
		if binding(o) && isOperators(o) {
			role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
			bound[key(kind, o.GetNamespace(), role)] = true
		}
	}
	for _, o := range objects {
		if err := p.add(o, bound); err != nil {
			return p, err
		}
	}
	if p.deployment == nil {
		return p, errors.New("the release has no Deployment")
	}
	return p, nil
}

// key names a role that is bound everywhere or in a namespace.
func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

func binding(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ClusterRoleBinding" || o.GetKind() == "RoleBinding"
}

// isOperators returns whether a binding is one that a ClusterServiceVersion expresses: of the operator's account, everywhere or in its namespace.
func isOperators(o *unstructured.Unstructured) bool {
	subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
	if len(subjects) != 1 || o.GetNamespace() != "" && o.GetNamespace() != Namespace {
		return false
	}
	subject, _ := subjects[0].(map[string]any)
	return subject["name"] == account && subject["namespace"] == Namespace
}

func (p *parts) add(o *unstructured.Unstructured, bound map[string]bool) error {
	switch kind := o.GetKind(); {
	case kind == "Deployment":
		p.deployment = o
	case kind == "CustomResourceDefinition":
		p.crds = append(p.crds, o)
		p.objects = append(p.objects, o)
	case (kind == "ClusterRole" || kind == "Role") && bound[key(kind, o.GetNamespace(), o.GetName())]:
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			return fmt.Errorf("%s %s: %w", kind, o.GetName(), err)
		}
		if kind == "Role" {
			p.permissions = append(p.permissions, role.Rules...)
		} else {
			p.clusterPermissions = append(p.clusterPermissions, role.Rules...)
		}
	case binding(o) && isOperators(o), kind == "ServiceAccount" && o.GetNamespace() == Namespace: // OLM creates them from the permissions
	case kind == "ConfigMap" && o.GetNamespace() == Namespace:
		o = o.DeepCopy()
		o.SetName(imagesName)
		o.SetNamespace("")
		p.objects = append(p.objects, o)
	case kind == "ClusterRole":
		p.objects = append(p.objects, o)
	default:
		p.prerequisites = append(p.prerequisites, o)
	}
	return nil
}

// clusterServiceVersion is what OLM installs.
func (r Release) clusterServiceVersion(p parts) (*unstructured.Unstructured, error) {
	version := strings.TrimPrefix(r.Images.Version, "v")
	examples, err := samples(p.crds)
	if err != nil {
		return nil, err
	}
	owned, err := release.DescribeCRDs(p.crds)
	if err != nil {
		return nil, err
	}
	strategy, err := installStrategy(p)
	if err != nil {
		return nil, err
	}
	related, operator, err := r.relatedImages()
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{
			"name": Package + ".v" + version, "namespace": "placeholder",
			"annotations": map[string]any{
				"alm-examples": examples, "capabilities": release.Capabilities, "categories": "Networking", "createdAt": r.Created.UTC().Format(time.RFC3339),
				"description": summary, "repository": r.Repository, "containerImage": operator, "support": r.Repository,
				"operators.operatorframework.io/internal-objects": internalObjects,
				"operatorframework.io/suggested-namespace":        Namespace, "operators.openshift.io/must-gather-image": r.Images.Reference(MustGather),
			},
			"labels": map[string]any{"operatorframework.io/os.linux": "supported", "operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported"},
		},
		"spec": map[string]any{
			"displayName": "Cluster Network Operator", "version": version, "maturity": "alpha", "minKubeVersion": "1.30.0", "description": description,
			"keywords":    []any{"network", "cni", "pod network"},
			"provider":    map[string]any{"name": "Cluster Network Operator", "url": r.Repository},
			"maintainers": []any{map[string]any{"name": "Cluster Network Operator", "email": "maintainers@cluster-network-operator.example"}},
			"links":       []any{map[string]any{"name": "Documentation", "url": r.Repository}},
			"icon":        []any{map[string]any{"base64data": icon(), "mediatype": "image/svg+xml"}},
			"installModes": []any{
				mode("OwnNamespace", false), mode("SingleNamespace", false), mode("MultiNamespace", false), mode("AllNamespaces", true),
			},
			"install":                   map[string]any{"strategy": "deployment", "spec": strategy},
			"customresourcedefinitions": map[string]any{"owned": owned}, "relatedImages": related,
		},
	}}, nil
}

func mode(name string, supported bool) map[string]any {
	return map[string]any{"type": name, "supported": supported}
}

// installStrategy is the Deployment with the permissions.
func installStrategy(p parts) (map[string]any, error) {
	deployment := p.deployment.DeepCopy()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return nil, err
	}
	for _, c := range containers {
		container, _ := c.(map[string]any)
		container["envFrom"] = []any{map[string]any{"configMapRef": map[string]any{"name": imagesName}}}
	}
	if err := unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		return nil, err
	}
	permissions := func(rules []rbacv1.PolicyRule) (any, error) {
		content, err := json.Marshal(rules)
		if err != nil {
			return nil, err
		}
		var list []any
		err = json.Unmarshal(content, &list)
		return []any{map[string]any{"serviceAccountName": account, "rules": list}}, err
	}
	own, err := permissions(p.permissions)
	if err != nil {
		return nil, err
	}
	everywhere, err := permissions(p.clusterPermissions)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"deployments": []any{map[string]any{"name": deployment.GetName(), "spec": deployment.Object["spec"]}},
		"permissions": own, "clusterPermissions": everywhere,
	}, nil
}

// samples are objects of the kinds of the CRDs, as JSON.
func samples(crds []*unstructured.Unstructured) (string, error) {
	kinds := map[string]bool{}
	for _, crd := range crds {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		kinds[kind] = true
	}
	found, err := config.Samples()
	if err != nil {
		return "", err
	}
	var list []any
	for _, name := range slices.Sorted(maps.Keys(found)) {
		objects, err := release.Decode(found[name])
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range objects {
			if kinds[o.GetKind()] {
				list = append(list, o.Object)
			}
		}
	}
	content, err := json.MarshalIndent(list, "", "  ")
	return string(content), err
}

// relatedImages are all images of the release, so that a catalogue can be mirrored with them, and the reference of the operator's.
func (r Release) relatedImages() (list []any, operator string, err error) {
	names, err := release.Names()
	if err != nil {
		return nil, "", err
	}
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "image": r.Images.Reference(name)})
	}
	return list, r.Images.Reference(Package), nil
}
