// Package offline reads the input of the operator's pipeline from files instead of a cluster: configurations, applied
// records and lists of images. It reports all errors in them as Problems.
package offline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/crdcheck"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// ErrUnusable is wrapped by errors about input that cannot be checked: a file that cannot be read, text that is not
// YAML, a file without configuration.
var ErrUnusable = errors.New("unusable input")

// Problem is one error in a configuration.
type Problem struct {
	// File is the name of the file; "-" is standard input.
	File string `json:"file"`
	// Field is the path of the field; empty for the whole object.
	Field string `json:"field"`
	// Value is the value as text; empty if there is none.
	Value string `json:"value"`
	// Rule is the stable identifier of the violated rule.
	Rule string `json:"rule"`
	// Message describes the error and its remedy, without the path and the value.
	Message string `json:"message"`
}

// Input is one object from a file: exactly one of Network, Config, Pod, Attachment and Policy is set.
type Input struct {
	File    string
	Network *operatorv1.Network
	Config  *networkoperatorv1.NetworkConfig
	// Pod, Attachment and Policy, a MultiNetworkPolicy, are only set if Files.Users is true.
	Pod        *corev1.Pod
	Attachment *Attachment
	Policy     *unstructured.Unstructured
	// Object is the decoded object as written in the file, without defaults.
	Object map[string]any

	// document is the number of the document in the file, and definition has the errors of the CRD that do not affect decoding.
	document   int
	definition []Problem
}

// Acknowledged returns the hash with which the object acknowledges a change; "" if there is none.
func (in Input) Acknowledged() string {
	if in.Network != nil {
		return in.Network.Annotations[pipeline.AcknowledgeAnnotation]
	}
	return in.Config.Annotations[pipeline.AcknowledgeAnnotation]
}

// Files opens files by name. "-" is standard input.
type Files struct {
	Stdin io.Reader
	// Users makes Configurations also read Pods, NetworkAttachmentDefinitions and MultiNetworkPolicies, which can only be validated.
	Users bool
}

// Open opens a file for reading.
func (f Files) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(f.Stdin), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return file, nil
}

// ReadAll returns the content of a file.
func (f Files) ReadAll(name string) ([]byte, error) {
	r, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrUnusable, name, err)
	}
	return data, nil
}

// Configurations reads every Network and NetworkConfig in files of one or more YAML or JSON documents, and the objects of users if
// Users is true. Documents of other kinds are an error. Decoding errors (unknown fields, values of a wrong type) are returned as
// problems in addition to the decoded objects.
func (f Files) Configurations(names []string) ([]Input, []Problem, error) {
	var inputs []Input
	var problems []Problem
	for _, name := range names {
		data, err := f.ReadAll(name)
		if err != nil {
			return nil, nil, err
		}
		found, wrong, err := decode(name, data, f.Users)
		if err != nil {
			return nil, nil, err
		}
		inputs, problems = append(inputs, found...), append(problems, wrong...)
	}
	if len(inputs) == 0 && len(problems) == 0 {
		return nil, nil, fmt.Errorf("%w: no Network and no NetworkConfig in %s", ErrUnusable, strings.Join(names, ", "))
	}
	return inputs, append(problems, twice(inputs)...), nil
}

// Configuration reads the configuration of a cluster. If there are a Network and a NetworkConfig, the Network takes
// precedence, as in a cluster; two of a kind are a problem.
func (f Files) Configuration(names []string) (Input, []Problem, error) {
	inputs, problems, err := f.Configurations(names)
	if err != nil || len(inputs) == 0 {
		return Input{}, problems, err
	}
	chosen := inputs[0]
	for _, in := range inputs[1:] {
		if in.Network != nil {
			chosen = in
		}
	}
	return chosen, problems, nil
}

func decode(name string, data []byte, users bool) ([]Input, []Problem, error) {
	var inputs []Input
	var problems []Problem
	docs := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return inputs, problems, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s, document %d: %w", ErrUnusable, name, n, err)
		}
		if blank(doc) {
			continue
		}
		in, wrong, err := decodeDocument(name, doc, users)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s, document %d: %w", ErrUnusable, name, n, err)
		}
		problems = append(problems, wrong...)
		if in != nil {
			in.document = n
			inputs = append(inputs, *in)
		}
	}
}

func blank(doc []byte) bool {
	for line := range bytes.Lines(doc) {
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] != '#' && !bytes.Equal(l, []byte("---")) {
			return false
		}
	}
	return true
}

// kinds are the supported objects, by apiVersion and kind.
var kinds = []string{operatorv1.GroupVersion.String() + " Network", networkoperatorv1.GroupVersion.String() + " NetworkConfig"}

func decodeDocument(file string, doc []byte, users bool) (*Input, []Problem, error) {
	asJSON, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, nil, syntaxError(doc, err)
	}
	in := &Input{File: file}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &in.Object); err != nil || in.Object == nil {
		return nil, nil, errors.New("not a Kubernetes object, which is a mapping with apiVersion, kind, metadata and spec")
	}
	apiVersion, kind := in.Object["apiVersion"], in.Object["kind"]
	var into any
	var group string
	known := kinds
	if users {
		known = append(slices.Clone(kinds), podKind, attachmentKind, policyKind)
	}
	switch id := fmt.Sprint(apiVersion, " ", kind); {
	case users && id == podKind:
		return decodePod(in, asJSON)
	case users && id == attachmentKind:
		return decodeAttachment(in, asJSON)
	case users && id == policyKind:
		return decodePolicy(in)
	case id == kinds[0]:
		in.Network = &operatorv1.Network{}
		into, group = in.Network, operatorv1.GroupVersion.Group
	case id == kinds[1]:
		in.Config = &networkoperatorv1.NetworkConfig{}
		into, group = in.Config, networkoperatorv1.GroupVersion.Group
	default:
		return nil, nil, fmt.Errorf("apiVersion %q, kind %q is not a configuration; it must be one of: %s",
			Text(apiVersion), Text(kind), strings.Join(known, ", "))
	}
	form, other, err := checkDefinition(file, group, in.Object)
	if err != nil {
		return nil, nil, err
	}
	in.definition = other
	if _, err := kjson.UnmarshalStrict(asJSON, into); err != nil {
		return nil, unreadable(file, err, form, other), nil
	}
	return in, form, nil
}

// syntaxError returns the error of invalid YAML in one line and without the names of the library's functions.
func syntaxError(doc []byte, err error) error {
	text := strings.NewReplacer("error converting YAML to JSON: ", "", "unmarshal errors:\n  ", "", "\n  ", "; ").Replace(err.Error())
	if !strings.Contains(text, "cannot start any token") {
		return errors.New(text)
	}
	if tab := slices.IndexFunc(slices.Collect(bytes.Lines(doc)), func(line []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("\t"))
	}); tab >= 0 {
		text += fmt.Sprintf("; line %d is indented with a tab, use spaces", tab+1)
	}
	return errors.New(text)
}

// goField matches the field in an error of the decoder.
var goField = regexp.MustCompile(`Go struct field \S*?\.([^ ]+) of type`)

// unreadable returns the problems of an object with a value that its field cannot hold: those of the CRD, or else one for the
// field that the decoder names.
func unreadable(file string, err error, form, other []Problem) []Problem {
	if len(form)+len(other) > 0 {
		return append(form, other...)
	}
	p := Problem{File: file, Rule: crdcheck.RuleType, Message: "has a value that the field cannot hold; kubectl explain describes it"}
	if m := goField.FindStringSubmatch(err.Error()); m != nil {
		p.Field = m[1]
	}
	return []Problem{p}
}

// Images reads NAME=reference pairs, separated by white space; lines that begin with # are comments. That is the
// format that `kubectl get ... -o jsonpath` prints for the operator's environment.
func (f Files) Images(name string) (map[string]string, error) {
	data, err := f.ReadAll(name)
	if err != nil {
		return nil, err
	}
	images := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for pair := range strings.FieldsSeq(line) {
			variable, ref, ok := strings.Cut(pair, "=")
			if !ok || variable == "" || ref == "" {
				return nil, fmt.Errorf("%w: %s: %q is not NAME=image, for example FLANNEL_IMAGE=example.com/flannel:v1", ErrUnusable, name, pair)
			}
			images[variable] = ref
		}
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%w: %s names no image; it holds NAME=image pairs", ErrUnusable, name)
	}
	return images, nil
}

// SortProblems orders problems by file, then by field.
func SortProblems(p []Problem) {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return strings.Compare(a.Field, b.Field)
	})
}
