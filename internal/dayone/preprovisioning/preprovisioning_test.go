package preprovisioning

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	both  = Offering{Formats: []Format{Initrd, ISO}, Architecture: "x86_64"}
)

func TestTheFirstAcceptableFormatIsChosen(t *testing.T) {
	for _, row := range []struct {
		why      string
		spec     Spec
		offering Offering
		want     Format
		problem  string
	}{
		{"the order is metal3's", Spec{AcceptFormats: []Format{ISO, Initrd}}, both, ISO, ""},
		{"the other order", Spec{AcceptFormats: []Format{Initrd, ISO}}, both, Initrd, ""},
		{"there is no base image for the first", Spec{AcceptFormats: []Format{ISO, Initrd}}, Offering{Formats: []Format{Initrd}}, Initrd, ""},
		{"none is acceptable", Spec{AcceptFormats: []Format{ISO}}, Offering{Formats: []Format{Initrd}}, "", "spec.acceptFormats is [iso]: there are base images for [initrd]"},
		{"nothing is acceptable", Spec{}, both, "", "spec.acceptFormats is []"},
		{"the architecture", Spec{AcceptFormats: []Format{ISO}, Architecture: "x86_64"}, both, ISO, ""},
		{"another architecture", Spec{AcceptFormats: []Format{ISO}, Architecture: "aarch64"}, both, "", "spec.architecture is aarch64: the base images are for x86_64"},
	} {
		got, failure := Choose(row.spec, row.offering)
		if got != row.want || (failure == nil) != (row.problem == "") {
			t.Errorf("%s: %q, %v", row.why, got, failure)
		}
		if failure != nil && (failure.Reason != ConfigurationError || !strings.Contains(failure.Message, row.problem)) {
			t.Errorf("%s: %v", row.why, failure)
		}
	}
}

func TestTheDocumentIsThatOfTheKey(t *testing.T) {
	for _, row := range []struct {
		why     string
		data    map[string][]byte
		want    string
		problem string
	}{
		{"no keys: every interface uses DHCP", nil, "", ""},
		{"the document", map[string][]byte{"nmstate": []byte("interfaces: []")}, "interfaces: []", ""},
		{"an empty document", map[string][]byte{"nmstate": {}}, "", ""},
		{"further keys do not matter", map[string][]byte{"nmstate": []byte("x"), "a": nil}, "x", ""},
		{"other keys only", map[string][]byte{"b": nil, "a": nil}, "", "Secret s has no key nmstate, only a, b"},
	} {
		got, failure := Document(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: row.data})
		if string(got) != row.want || (failure == nil) != (row.problem == "") {
			t.Errorf("%s: %q, %v", row.why, got, failure)
		}
		if failure != nil && (failure.Reason != ImageBuildInvalid || failure.Message != row.problem) {
			t.Errorf("%s: %v", row.why, failure)
		}
	}
}

func TestTheWriterIsAnotherManagerWithFieldsOfTheStatus(t *testing.T) {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		set := &metav1.FieldsV1{}
		set.SetRawBytes([]byte(fields))
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: set}
	}
	const status = `{"f:status":{".":{},"f:imageUrl":{}}}`
	for _, row := range []struct {
		why  string
		in   []metav1.ManagedFieldsEntry
		want string
	}{
		{"no fields are managed", nil, ""},
		{"its own", []metav1.ManagedFieldsEntry{entry("own", status)}, ""},
		{"the specification is metal3's", []metav1.ManagedFieldsEntry{entry("metal3", `{"f:spec":{"f:architecture":{}}}`), entry("own", status)}, ""},
		{"another one wrote the status", []metav1.ManagedFieldsEntry{entry("own", status), entry("other", status)}, "other"},
		{"a status that was cleared", []metav1.ManagedFieldsEntry{entry("kubectl-patch", `{"f:status":{}}`), entry("other", `{"f:status":{".":{}}}`)}, ""},
		{"fields that cannot be read", []metav1.ManagedFieldsEntry{entry("other", `{"f:status":[`)}, "other"},
		{"an entry without fields", []metav1.ManagedFieldsEntry{{Manager: "other"}}, ""},
	} {
		if got := Writer(row.in, "own"); got != row.want {
			t.Errorf("%s: %q", row.why, got)
		}
	}
}

func TestAnImageIsNotReadyBeforeItsURLChanges(t *testing.T) {
	image := &Image{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: Spec{NetworkDataName: "s", Architecture: "x86_64"}}
	now := begin
	step := func(why string, o Outcome, ready, failed, reason string) {
		t.Helper()
		now = now.Add(time.Minute)
		image.Status = Next(image, o, now)
		r, e := meta.FindStatusCondition(image.Status.Conditions, ConditionReady), meta.FindStatusCondition(image.Status.Conditions, ConditionError)
		if r == nil || e == nil || string(r.Status) != ready || string(e.Status) != failed || r.Reason != reason || r.ObservedGeneration != image.Generation {
			t.Errorf("%s: %+v", why, image.Status.Conditions)
		}
		if ready == "False" {
			return
		}
		if s := image.Status; s.ImageURL != o.URL || s.NetworkData != o.NetworkData || s.Architecture != "x86_64" || s.Format != o.Format || s.KernelURL != o.KernelURL {
			t.Errorf("%s: %+v", why, s)
		}
		if again := Next(image, o, now.Add(time.Hour)); !Same(again, image.Status) {
			t.Errorf("%s: it is written again: %s", why, cmp.Diff(image.Status, again))
		}
	}
	one := Outcome{URL: "u1", Format: ISO, NetworkData: NetworkData{"s", "1"}}
	two := Outcome{URL: "u2", Format: Initrd, KernelURL: "k", NetworkData: NetworkData{"s", "2"}}
	bad := Outcome{Format: ISO, NetworkData: NetworkData{"s", "3"}, Failure: &Failure{ImageBuildInvalid, "line 1"}}
	step("the first image", one, "True", "False", ImageSuccess)
	step("the Secret has changed", two, "False", "False", ImageSuccess)
	if image.Status.ImageURL != "u1" || image.Status.NetworkData.Version != "1" {
		t.Errorf("what is not ready is still the former image: %+v", image.Status)
	}
	step("the new image", two, "True", "False", ImageSuccess)
	image.Generation = 4
	step("a generation with the same image", two, "True", "False", ImageSuccess)
	step("an invalid document", bad, "False", "True", ImageBuildInvalid)
	if s := image.Status; s.ImageURL != "" || s.KernelURL != "" || s.NetworkData.Version != "3" || s.Conditions[1].Message != "line 1" {
		t.Errorf("metal3 shows the error only for the current version of the Secret: %+v", s)
	}
	step("it is corrected", one, "True", "False", ImageSuccess)
}

func TestAMissingSecretIsLookedForLessAndLess(t *testing.T) {
	failed := func(since time.Duration) Status {
		i := &Image{}
		return Next(i, Outcome{Failure: &Failure{MissingNetworkData, "x"}}, begin.Add(-since))
	}
	for since, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, time.Minute: 70 * time.Second, time.Hour: 10 * time.Minute, -time.Hour: 10 * time.Second,
	} {
		if got := RetryAfter(failed(since), begin); got != want {
			t.Errorf("missing for %s: %s", since, got)
		}
	}
	if got := RetryAfter(Status{}, begin); got != 10*time.Second {
		t.Errorf("without a condition: %s", got)
	}
}

func TestALongMessageFits(t *testing.T) {
	for n := range 4 {
		got := shortened(strings.Repeat("x", n) + strings.Repeat("ü", maxMessage))
		if len(got) > maxMessage || !utf8.ValidString(got) || !strings.HasSuffix(got, " ...") {
			t.Errorf("%d: %d bytes", n, len(got))
		}
	}
}

func TestFieldsThatAreNotKnownStay(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"imageUrl": "old", "kernelUrl": "old", "newer": "kept"}}}
	if err := Encode(Status{ImageURL: "new", NetworkData: NetworkData{Name: "s"}}, object); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"imageUrl": "new", "newer": "kept", "networkData": map[string]any{"name": "s"}}
	if diff := cmp.Diff(want, object.Object["status"]); diff != "" {
		t.Error(diff)
	}
	image, err := Decode(object)
	if err != nil || image.Status.ImageURL != "new" || image.Assisted() {
		t.Errorf("%+v, %v", image, err)
	}
}
