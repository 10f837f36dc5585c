// Package chart makes the Helm charts of a release: what is written by hand in charts/, the manifests of the release as
// templates, and values with their documentation from one schema.
package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/charts"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/status"
)

// The charts.
const (
	Operator = "cluster-network-operator"
	Network  = "cluster-network"
)

// Names returns the names of all charts.
func Names() []string { return []string{Network, Operator} }

// Files returns the files of a chart for a release, by their paths in the chart.
func Files(name string, images release.Set) (map[string][]byte, error) {
	files, err := static(name)
	if err != nil {
		return nil, err
	}
	if err := setVersion(files, images.Version); err != nil {
		return nil, err
	}
	var schema map[string]any
	switch name {
	case Operator:
		schema, err = operator(files, images)
	case Network:
		schema, err = network()
	default:
		return nil, fmt.Errorf("there is no chart %q", name)
	}
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", name, err)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, err
	}
	files["values.schema.json"] = append(text, '\n')
	if files["values.yaml"], err = values(schema); err != nil {
		return nil, fmt.Errorf("chart %s: values: %w", name, err)
	}
	files["README.md"] = readme(name, schema)
	return files, nil
}

// static are the files in the tree.
func static(name string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := fs.WalkDir(charts.Files(), name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(charts.Files(), file)
		out[strings.TrimPrefix(file, name+"/")] = content
		return err
	})
	return out, err
}

// catalogue adds annotations for Artifact Hub, whose values are texts in YAML, to the operator's chart: its images, which templates do not
// name as a whole, and its CRDs.
func catalogue(files map[string][]byte, images release.Set, objects []*unstructured.Unstructured) error {
	names, err := release.Names()
	if err != nil {
		return err
	}
	list := make([]any, 0, len(names))
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "image": images.Reference(name)})
	}
	crds, err := release.DescribeCRDs(slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" }))
	if err != nil {
		return err
	}
	chart := map[string]any{}
	if err := yaml.Unmarshal(files["Chart.yaml"], &chart); err != nil {
		return err
	}
	annotations, ok := chart["annotations"].(map[string]any)
	if !ok {
		return errors.New("no annotations in Chart.yaml")
	}
	annotations["artifacthub.io/operator"], annotations["artifacthub.io/operatorCapabilities"] = "true", strings.ToLower(release.Capabilities)
	for name, value := range map[string][]any{"images": list, "crds": crds} {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		annotations["artifacthub.io/"+name] = string(text)
	}
	files["Chart.yaml"], err = yaml.Marshal(chart)
	return err
}

func setVersion(files map[string][]byte, version string) error {
	chart := map[string]any{}
	if err := yaml.Unmarshal(files["Chart.yaml"], &chart); err != nil {
		return err
	}
	chart["version"], chart["appVersion"] = strings.TrimPrefix(version, "v"), version
	content, err := yaml.Marshal(chart)
	files["Chart.yaml"] = content
	return err
}

// operator adds the templates of the operator's chart, and returns its schema with the defaults of the release.
func operator(files map[string][]byte, images release.Set) (map[string]any, error) {
	objects, err := release.Manifests(images, 2)
	if err != nil {
		return nil, err
	}
	if err := catalogue(files, images, objects); err != nil {
		return nil, err
	}
	schema := map[string]any{}
	if err := json.Unmarshal(files["values.schema.json"], &schema); err != nil {
		return nil, err
	}
	digests := map[string]any{}
	for name, digest := range images.Digests {
		digests[name] = digest
	}
	for field, value := range map[string]any{"prefix": images.Prefix, "tag": images.Version, "digests": digests} {
		if err := setDefault(schema, value, "images", field); err != nil {
			return nil, err
		}
	}
	var plain []*unstructured.Unstructured
	for _, o := range slices.DeleteFunc(objects, ofOperands) {
		switch o.GetKind() {
		case "Deployment":
			template, err := deployment(o, schema)
			if err != nil {
				return nil, err
			}
			files["templates/deployment.yaml"] = template
		case "ConfigMap":
			files["templates/images.yaml"] = imagesTemplate(o)
		case "CustomResourceDefinition", "Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			// They are upgraded with the chart, and stay when it is removed: what CRDs and namespaces hold would be deleted with
			// them, and the policies, which Helm would delete first, protect the operator while there is a Network.
			annotations := o.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["helm.sh/resource-policy"] = "keep"
			o.SetAnnotations(annotations)
			plain = append(plain, o)
		default:
			plain = append(plain, o)
		}
	}
	content, err := release.Encode(plain)
	files["templates/manifests.yaml"] = escape(content)
	return schema, err
}

// ofOperands reports whether an object is a namespace of operands, or in one. The operator creates these objects if they do not exist, with its
// label app.kubernetes.io/managed-by. Helm sets the same label on all objects of a release, and fails if another client owns it.
func ofOperands(o *unstructured.Unstructured) bool {
	namespace := o.GetNamespace()
	if o.GetKind() == "Namespace" {
		namespace = o.GetName()
	}
	return namespace != "" && namespace != status.OperatorNamespace && namespace != nodereport.Namespace
}

// escape makes text of what Helm would take as a template.
func escape(content []byte) []byte {
	return bytes.ReplaceAll(content, []byte("{{"), []byte("{{`{{`}}"))
}

// property returns the schema of a value.
func property(schema map[string]any, fields ...string) (map[string]any, error) {
	for _, f := range fields {
		properties, _ := schema["properties"].(map[string]any)
		next, ok := properties[f].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the schema has no value %s", strings.Join(fields, "."))
		}
		schema = next
	}
	return schema, nil
}

func setDefault(schema map[string]any, value any, fields ...string) error {
	p, err := property(schema, fields...)
	if err != nil {
		return err
	}
	p["default"] = value
	return nil
}

// configName is the ConfigMap of images. In a chart its name has no hash: an annotation of the pods has it.
const configName = "network-operator-images"

// imagesTemplate is the ConfigMap with references that values determine.
func imagesTemplate(o *unstructured.Unstructured) []byte {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	var out bytes.Buffer
	fmt.Fprintf(&out, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\n  labels:\n", configName, o.GetNamespace())
	labels := o.GetLabels()
	for _, key := range sorted(labels) {
		fmt.Fprintf(&out, "    %s: %s\n", key, labels[key])
	}
	out.WriteString("data:\n")
	for _, key := range sorted(data) {
		fmt.Fprintf(&out, "  %s: {{ include \"cno.image\" (list . %q) }}\n", key, imageName(data[key]))
	}
	out.WriteString("  {{- with .Values.images.mirror }}\n  IMAGE_REGISTRY: {{ . }}\n  {{- end }}\n")
	return out.Bytes()
}

// imageName is the last part of a reference, without tag and digest.
func imageName(reference string) string {
	name, _, _ := strings.Cut(path.Base(strings.Split(reference, "@")[0]), ":")
	return name
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// deployment is the operator's Deployment with the fields that values determine, whose defaults it sets in the schema.
func deployment(o *unstructured.Unstructured, schema map[string]any) ([]byte, error) {
	pod, _, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
	if err != nil {
		return nil, err
	}
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		return nil, errors.New("the Deployment does not have one container")
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	replicas, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	defaults := map[string]any{"replicas": replicas, "resources": container["resources"]}
	for _, field := range []string{"tolerations", "nodeSelector", "affinity", "priorityClassName"} {
		defaults[field] = pod[field]
		pod[field] = mark(field)
	}
	for field, value := range defaults {
		if err := setDefault(schema, value, "operator", field); err != nil {
			return nil, err
		}
	}
	container["resources"], container["image"] = mark("resources"), mark("image")
	container["envFrom"] = []any{map[string]any{"configMapRef": map[string]any{"name": configName}}}
	env, _ := container["env"].([]any)
	container["env"] = append(env, mark("extraEnv"))
	pod["imagePullSecrets"] = mark("pullSecrets")
	o = o.DeepCopy()
	if err := unstructured.SetNestedMap(o.Object, pod, "spec", "template", "spec"); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(o.Object, mark("replicas"), "spec", "replicas"); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(o.Object, mark("checksum"), "spec", "template", "metadata", "annotations", "checksum/images"); err != nil {
		return nil, err
	}
	content, err := yaml.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	return fill(escape(content), imageName(image))
}

// mark stands for a value until the object is text.
func mark(field string) string { return "@" + field + "@" }

// fill replaces the marks.
func fill(content []byte, image string) ([]byte, error) {
	text := string(content)
	for field, template := range map[string]string{
		"image": `{{ include "cno.image" (list . "` + image + `") }}`, "replicas": "{{ .Values.operator.replicas }}", "priorityClassName": "{{ .Values.operator.priorityClassName }}",
		"tolerations": "{{- toYaml .Values.operator.tolerations | nindent 8 }}", "nodeSelector": "{{- toYaml .Values.operator.nodeSelector | nindent 8 }}",
		"affinity": "{{- toYaml .Values.operator.affinity | nindent 8 }}", "resources": "{{- toYaml .Values.operator.resources | nindent 10 }}",
		"pullSecrets": "{{- toYaml .Values.images.pullSecrets | nindent 8 }}",
		"checksum":    `{{ include (print $.Template.BasePath "/images.yaml") . | sha256sum }}`,
	} {
		quoted := "'" + mark(field) + "'"
		if !strings.Contains(text, quoted) {
			return nil, fmt.Errorf("the Deployment has no place for %s", field)
		}
		text = strings.Replace(text, quoted, template, 1)
	}
	// An item of a list becomes as many as there are.
	item := "        - '" + mark("extraEnv") + "'\n"
	if !strings.Contains(text, item) {
		return nil, errors.New("the Deployment has no place for extraEnv")
	}
	text = strings.Replace(text, item, "        {{- with .Values.operator.extraEnv }}\n        {{- toYaml . | nindent 8 }}\n        {{- end }}\n", 1)
	return []byte(text), nil
}
