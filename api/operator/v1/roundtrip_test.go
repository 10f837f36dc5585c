package v1_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Every field of OpenShift's type has one of the same JSON name here, and of a type that holds the same. What
// is walked are the types, so that a field cannot be missed because a test object does not set it.
func TestEveryFieldOfOpenShiftExists(t *testing.T) {
	upstream, ours := map[string]reflect.Kind{}, map[string]reflect.Kind{}
	collect(upstream, "", reflect.TypeFor[osv1.Network]())
	collect(ours, "", reflect.TypeFor[operatorv1.Network]())
	if len(upstream) < 150 {
		t.Fatalf("found only %d fields in OpenShift's type", len(upstream))
	}
	for path, kind := range upstream {
		if ours[path] != kind {
			t.Errorf("%s: got %v, want %v", path, ours[path], kind)
		}
	}
}

// collect adds the kind of each field below a type, under its path in JSON.
func collect(into map[string]reflect.Kind, path string, of reflect.Type) {
	switch of.Kind() {
	case reflect.Pointer:
		collect(into, path, of.Elem())
		return
	case reflect.Slice, reflect.Map:
		into[path] = of.Kind()
		collect(into, path+"[]", of.Elem())
		return
	case reflect.Struct:
		if of != reflect.TypeFor[metav1.Time]() && of != reflect.TypeFor[runtime.RawExtension]() && of != reflect.TypeFor[metav1.FieldsV1]() {
			for i := range of.NumField() {
				name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
				if name != "" {
					name = "." + name
				}
				collect(into, path+name, of.Field(i).Type)
			}
		}
	default: // a leaf
	}
	into[path] = of.Kind()
}

func TestObjectsOfOpenShiftRoundTrip(t *testing.T) {
	for _, row := range []struct {
		why     string
		nothing float64 // the chance that an optional field is not set
		rounds  int
	}{
		{"every field is set", 0, 3},
		{"any field may be missing", 0.5, 300},
		{"all that is optional is missing", 1, 1},
	} {
		t.Run(row.why, func(t *testing.T) {
			fill := randfill.NewWithSeed(1).NilChance(row.nothing).NumElements(1, 3).MaxDepth(20).Funcs(
				func(r *runtime.RawExtension, c randfill.Continue) {
					r.Raw = fmt.Appendf(nil, `{"a":{"b":[null,%d]}}`, c.Intn(100))
				},
				func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(c.Int63n(1<<32), 0) },
				func(m *metav1.ObjectMeta, _ randfill.Continue) { m.Name = "cluster" },
			)
			for range row.rounds {
				upstream := &osv1.Network{}
				fill.Fill(upstream)
				before := encode(t, upstream)
				ours := &operatorv1.Network{}
				decoder := json.NewDecoder(bytes.NewReader(before))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(ours); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(significant(t, before), significant(t, encode(t, ours))); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// significant decodes an object and removes empty values: OpenShift's type writes null, "" and [] for
// some fields that are not set, and ours leaves them out.
func significant(t *testing.T, encoded []byte) any {
	t.Helper()
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	return prune(decoded)
}

func prune(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if list, ok := inner.([]any); inner == nil || inner == "" || ok && len(list) == 0 {
				delete(value, key)
			} else {
				value[key] = prune(inner)
			}
		}
	case []any:
		for i := range value {
			value[i] = prune(value[i])
		}
	}
	return value
}
