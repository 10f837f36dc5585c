package release

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/crds"
	"github.com/cluster-network-operator/cno/config"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// kustomization has the fields of kustomize that config/default and the directories below it use.
type kustomization struct {
	Resources          []string    `json:"resources"`
	Labels             []labelling `json:"labels"`
	ConfigMapGenerator []generator `json:"configMapGenerator"`
}

// labelling adds labels to objects, but not to selectors and pods.
type labelling struct {
	Pairs map[string]string `json:"pairs"`
}

type generator struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Literals  []string `json:"literals"`
}

// root is the directory that installs the operator.
const root = "default"

// Manifests returns the objects that install the operator with a set of images, in the order in which to apply them. They are
// those of config/default. With one control-plane node the operator has one replica.
func Manifests(images Set, replicas int64) ([]*unstructured.Unstructured, error) {
	objects, err := directory(config.Files(), root)
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	top, err := readKustomization(config.Files(), root)
	if err != nil {
		return nil, err
	}
	renamed := map[string]string{}
	for _, g := range top.ConfigMapGenerator {
		cm, err := g.configMap(images)
		if err != nil {
			return nil, err
		}
		renamed[g.Name] = cm.GetName()
		objects = append(objects, cm)
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		if err := deploy(o, images, renamed, replicas); err != nil {
			return nil, fmt.Errorf("deployment %s: %w", o.GetName(), err)
		}
	}
	added := top.labels()
	for _, o := range objects {
		all := o.GetLabels()
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, added)
		o.SetLabels(all)
	}
	Sort(objects)
	return objects, nil
}

// labels returns the labels of all objects.
func (k kustomization) labels() map[string]string {
	out := map[string]string{}
	for _, l := range k.Labels {
		maps.Copy(out, l.Pairs)
	}
	return out
}

// Labels returns the labels of all objects of a release, by which an upgrade finds those of an earlier one.
func Labels() (map[string]string, error) {
	top, err := readKustomization(config.Files(), root)
	return top.labels(), err
}

// order is the order of applying: dependencies of others first, objects that refuse changes and those that start pods last.
var order = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Version: "v1", Kind: "ConfigMap"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyBinding"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
}

// Kinds returns the kinds of the objects of releases, in the order in which they are applied.
func Kinds() []schema.GroupVersionKind { return slices.Clone(order) }

// Sort sorts objects in the order in which they are applied.
func Sort(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
}

func rank(o *unstructured.Unstructured) int {
	if i := slices.Index(order, o.GroupVersionKind()); i >= 0 {
		return i
	}
	return len(order) - 1 // other kinds go before those that start pods
}

func readKustomization(files fs.FS, dir string) (kustomization, error) {
	var k kustomization
	content, err := fs.ReadFile(files, path.Join(dir, "kustomization.yaml"))
	if err != nil {
		return k, err
	}
	if err := yaml.Unmarshal(content, &k); err != nil {
		return k, fmt.Errorf("%s/kustomization.yaml: %w", dir, err)
	}
	return k, nil
}

// directory returns the objects of a directory and of the directories to which it refers.
func directory(files fs.FS, dir string) ([]*unstructured.Unstructured, error) {
	k, err := readKustomization(files, dir)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, resource := range k.Resources {
		found, err := resourceObjects(files, path.Join(dir, resource))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// ownCRDs is the directory of the CRDs of package crds, relative to config.
const ownCRDs = "../api/crds"

func resourceObjects(files fs.FS, name string) ([]*unstructured.Unstructured, error) {
	switch {
	case name == ownCRDs:
		names, err := fs.Glob(crds.Files(), "*.yaml")
		if err != nil {
			return nil, err
		}
		var out []*unstructured.Unstructured
		for _, name := range names {
			found, err := decode(crds.Files(), name)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		return out, nil
	case strings.HasSuffix(name, ".yaml"):
		return decode(files, name)
	default:
		return directory(files, name)
	}
}

func decode(files fs.FS, name string) ([]*unstructured.Unstructured, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	objects, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return objects, nil
}

// Decode reads the objects of a YAML stream.
func Decode(content []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		if string(text) == "null" {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
}

// configMap is the generated ConfigMap. Values that are references of this project's images are replaced by those of the set.
func (g generator) configMap(images Set) (*unstructured.Unstructured, error) {
	data := map[string]any{}
	for _, literal := range g.Literals {
		key, value, ok := strings.Cut(literal, "=")
		if !ok {
			return nil, fmt.Errorf("ConfigMap %s: %q is not KEY=VALUE", g.Name, literal)
		}
		data[key] = images.replace(value)
	}
	suffix, err := hash(data)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": g.Name + "-" + suffix, "namespace": g.Namespace},
	}}, nil
}

// replace returns the reference of the set for one in the manifests.
func (s Set) replace(reference string) string {
	image, own := strings.CutPrefix(reference, DefaultPrefix+"/")
	if !own {
		return reference
	}
	image, _, _ = strings.Cut(image, ":")
	return s.Reference(image)
}

// hash returns the suffix that kustomize adds to the name of a generated ConfigMap, so that pods that use it are replaced
// when the data change.
func hash(data map[string]any) (string, error) {
	content, err := json.Marshal(map[string]any{"kind": "ConfigMap", "name": "", "data": data})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return strings.NewReplacer("0", "g", "1", "h", "3", "k", "a", "m", "e", "t").Replace(hex.EncodeToString(sum[:])[:10]), nil
}

// deploy sets version, image, ConfigMap and number of replicas of the operator's Deployment.
func deploy(o *unstructured.Unstructured, images Set, renamed map[string]string, replicas int64) error {
	if err := unstructured.SetNestedField(o.Object, replicas, "spec", "replicas"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(o.Object, images.Version, "metadata", "annotations", manifest.AnnotationVersion); err != nil {
		return err
	}
	containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			return errors.New("a container is not an object")
		}
		image, _, err := unstructured.NestedString(container, "image")
		if err != nil {
			return err
		}
		container["image"] = images.replace(image)
		sources, _, err := unstructured.NestedSlice(container, "envFrom")
		if err != nil {
			return err
		}
		for _, s := range sources {
			source, _ := s.(map[string]any)
			name, found, err := unstructured.NestedString(source, "configMapRef", "name")
			if err != nil || !found || renamed[name] == "" {
				continue
			}
			if err := unstructured.SetNestedField(source, renamed[name], "configMapRef", "name"); err != nil {
				return err
			}
		}
		container["envFrom"] = sources
	}
	return unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
}

// Variables returns the variable in the manifests that names each image, by the name of the image.
func Variables() (map[string]string, error) {
	k, err := readKustomization(config.Files(), root)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, g := range k.ConfigMapGenerator {
		for _, literal := range g.Literals {
			key, value, _ := strings.Cut(literal, "=")
			if image, own := strings.CutPrefix(value, DefaultPrefix+"/"); own {
				image, _, _ = strings.Cut(image, ":")
				out[image] = key
			}
		}
	}
	return out, nil
}

// Names returns the names of all images of the release, sorted: those of the manifests, and those that users start.
func Names() ([]string, error) {
	variables, err := Variables()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(slices.Values(slices.AppendSeq([]string{"host-image-server", "must-gather"}, maps.Keys(variables)))), nil
}

// Capabilities is the level of the operator in catalogues.
const Capabilities = "Seamless Upgrades"

// DescribeCRDs describes CRDs for catalogues, with the texts of their schemas.
func DescribeCRDs(crds []*unstructured.Unstructured) ([]any, error) {
	var out []any
	for _, crd := range crds {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			version, _ := v.(map[string]any)
			text, _, _ := unstructured.NestedString(version, "schema", "openAPIV3Schema", "description")
			out = append(out, map[string]any{"name": crd.GetName(), "version": version["name"], "kind": kind, "displayName": kind, "description": text})
		}
	}
	return out, nil
}

// Encode returns objects as a deterministic YAML stream.
func Encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objects {
		content, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(content)
	}
	return out.Bytes(), nil
}
