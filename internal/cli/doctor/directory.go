package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/version"
)

// coreGroup is the directory of the API group without a name.
const coreGroup = "core"

// directory returns the collected files in the layout of OpenShift's must-gather, by path: objects by API group, cluster-scoped ones
// in one file each, those of a namespace in a list for each resource, and logs by pod and container. Objects whose names
// cannot be names of files are omitted.
func (f *collected) directory(r Report) (map[string][]byte, error) {
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	files["version"] = []byte("cluster-network-operator\n" + version.String() + "\n")
	lists := map[string][]any{}
	for section, objects := range f.objects {
		resource := resourceOf(section)
		for _, o := range objects {
			u := unstructured.Unstructured{Object: o}
			namespace, name := u.GetNamespace(), u.GetName()
			if !isFileName(name) || namespace != "" && !isFileName(namespace) {
				continue
			}
			group := groupOf(u.GetAPIVersion())
			if namespace != "" {
				path := strings.Join([]string{"namespaces", namespace, group, resource + ".yaml"}, "/")
				lists[path] = append(lists[path], o)
				if group != coreGroup || resource != pods.Resource {
					continue
				}
			}
			path := strings.Join([]string{"cluster-scoped-resources", group, resource, name + ".yaml"}, "/")
			if namespace != "" {
				path = strings.Join([]string{"namespaces", namespace, "pods", name, name + ".yaml"}, "/")
			}
			if files[path], err = yaml.Marshal(o); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	for path, items := range lists {
		if files[path], err = yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for name, content := range f.logs {
		files[gatheredLog(name)] = content
	}
	return files, nil
}

// resourceOf returns the resource of a section: NAMESPACE/RESOURCE or RESOURCE.GROUP.
func resourceOf(section string) string {
	if _, resource, ok := strings.Cut(section, "/"); ok {
		return resource
	}
	resource, _, _ := strings.Cut(section, ".")
	return resource
}

func groupOf(apiVersion string) string {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || version.Group == "" {
		return coreGroup
	}
	return version.Group
}

// isFileName reports whether a name contains no path to another directory.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// gatheredLog returns the path of a log: logs/NAMESPACE/POD/CONTAINER[.previous].log becomes a path below the pod.
func gatheredLog(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return name
	}
	container, file := strings.TrimSuffix(parts[3], ".log"), "current.log"
	if before, ok := strings.CutSuffix(container, ".previous"); ok {
		container, file = before, "previous.log"
	}
	return strings.Join([]string{"namespaces", parts[1], "pods", parts[2], container, container, "logs", file}, "/")
}

// writeDirectory writes files below a directory that only its owner may read.
func writeDirectory(dir string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("write directory: %w", err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write directory: %w", err)
		}
	}
	return nil
}
