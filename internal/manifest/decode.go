package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Decode decodes the single YAML document of a file into a T, which is a Kubernetes type such as appsv1.DaemonSet, or
// unstructured.Unstructured for kinds without Go type. It is strict: an unknown field, a duplicate field, a field in other
// case, another apiVersion or kind, and a second document are errors that name the file.
func Decode[T any](fsys fs.FS, path string) (*T, error) {
	docs, err := documents(fsys, path)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, fmt.Errorf("decode %s: want one YAML document, got %d", path, len(docs))
	}
	into := new(T)
	obj, ok := any(into).(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("decode %s: %T is not a Kubernetes type", path, into)
	}
	if err := decodeInto(docs[0], obj); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return into, nil
}

// DecodeAll decodes all YAML documents of a file, in their order, as strictly as Decode, into the Go type that the
// scheme has for the kind, or unstructured if the scheme does not have the group.
func DecodeAll(fsys fs.FS, path string) ([]Typed, error) {
	docs, err := documents(fsys, path)
	if err != nil {
		return nil, err
	}
	objs := make([]Typed, 0, len(docs))
	for i, doc := range docs {
		obj, err := decodeAny(doc)
		if err != nil {
			return nil, fmt.Errorf("decode %s, document %d: %w", path, i+1, err)
		}
		objs = append(objs, obj)
	}
	return objs, nil
}

func decodeAny(doc []byte) (Typed, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &head); err != nil {
		return nil, err
	}
	if head.APIVersion == "" || head.Kind == "" {
		return nil, errors.New("apiVersion and kind must be set")
	}
	obj, err := newFor(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
	if err != nil {
		return nil, err
	}
	return obj, decodeInto(doc, obj)
}

// decodeInto decodes a YAML document into obj. The strict mode of the library accepts names in other case, which the API
// server refuses, so that this function uses its parts.
func decodeInto(doc []byte, obj runtime.Object) error {
	asJSON, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if err := u.UnmarshalJSON(asJSON); err != nil {
			return err
		}
	} else {
		strict, err := kjson.UnmarshalStrict(asJSON, obj)
		if err := errors.Join(append(strict, err)...); err != nil {
			return err
		}
		if obj.GetObjectKind().GroupVersionKind().Empty() {
			return errors.New("apiVersion and kind must be set")
		}
	}
	_, err = kindOf(obj)
	return err
}

// documents returns the YAML documents of a file that are not empty.
func documents(fsys fs.FS, path string) ([][]byte, error) {
	content, err := fs.ReadFile(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var docs [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", path, err)
		}
		var content any
		if err := yaml.Unmarshal(doc, &content); err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", path, err)
		}
		if content != nil {
			docs = append(docs, doc)
		}
	}
}
