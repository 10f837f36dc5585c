package idling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	unidlingv1alpha1 "github.com/openshift/api/unidling/v1alpha1"

	"github.com/cluster-network-operator/cno/internal/idling"
)

func target(kind, group, name string, replicas int32) idling.Target {
	return idling.Target{CrossGroupObjectReference: unidlingv1alpha1.CrossGroupObjectReference{Kind: kind, Group: group, Name: name}, Replicas: replicas}
}

func TestRoundTrip(t *testing.T) {
	want := idling.State{At: time.Unix(1_790_000_000, 0).UTC(), Targets: []idling.Target{target("Deployment", "apps", "web", 3), target("ReplicationController", "", "old", 1)}}
	annotations, err := idling.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	const text = `[{"kind":"Deployment","name":"web","group":"apps","replicas":3},{"kind":"ReplicationController","name":"old","replicas":1}]`
	if annotations[idling.Targets] != text {
		t.Errorf("targets are %s, and oc writes %s", annotations[idling.Targets], text)
	}
	have, idled, err := idling.Decode(annotations)
	if diff := cmp.Diff(want, have); diff != "" || !idled || err != nil {
		t.Errorf("%t %v %s", idled, err, diff)
	}
}

func TestDecode(t *testing.T) {
	const at = "2026-01-02T15:04:05Z"
	for _, test := range []struct {
		reason, at, targets string
		idled               bool
		fault               string
	}{
		{"a Service that is not idled", "", "", false, ""},
		{"a time that cannot be read", "yesterday", "[]", true, `annotation idling.alpha.openshift.io/idled-at is "yesterday"`},
		{"no targets", at, "", true, "annotation idling.alpha.openshift.io/unidle-targets: unexpected end"},
		{"targets of another form", at, `{"kind":"Deployment"}`, true, "write a list such as"},
		{"a kind that this program may not scale", at, `[{"kind":"Node","name":"a","replicas":1}]`, true, `has Node "a" of group ""`},
		{"the kind of another group", at, `[{"kind":"Deployment","group":"example.com","name":"a","replicas":1}]`, true, `of group "example.com"`},
		{"a Deployment without a group, of an old oc", at, `[{"kind":"Deployment","name":"a","replicas":1}]`, true, ""},
		{"no name", at, `[{"kind":"Deployment","replicas":1}]`, true, "name and number are required"},
		{"a negative number", at, `[{"kind":"Deployment","name":"a","replicas":-1}]`, true, "name and number are required"},
	} {
		annotations := map[string]string{idling.Targets: test.targets}
		if test.at != "" {
			annotations[idling.IdledAt] = test.at
		}
		_, idled, err := idling.Decode(annotations)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if idled != test.idled || !strings.Contains(text, test.fault) || (err == nil) != (test.fault == "") {
			t.Errorf("%s: %t, %v", test.reason, idled, err)
		}
	}
}
