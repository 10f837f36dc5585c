package preview_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/preview"
)

func TestAPlanIsBlockedByWhatTheAPIServerRefuses(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, row := range []struct {
		why      string
		err      error
		decision preview.Decision
		text     string
	}{
		{"a webhook that does not answer", apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com"`)), preview.Blocked, "the API server refuses it: Internal error"},
		{"a quota", apierrors.NewForbidden(resource, "c", errors.New("exceeded quota: q")), preview.Blocked, "exceeded quota"},
		{"a user without permission", apierrors.NewForbidden(resource, "c", errors.New(`User "viewer" cannot patch resource "configmaps"`)), preview.Safe, "no permission to patch it"},
		{"a namespace that is created first", apierrors.NewNotFound(resource, "c"), preview.Safe, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			p := pipeline.Pipeline{Registry: networks.Registry()}
			known := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1", Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "h", Port: 6443}}
			w, err := preview.Offline(t.Context(), p, pipeline.Input{Cluster: known})
			if err != nil {
				t.Fatal(err)
			}
			w.DryRun = func(context.Context, plan.Action) (*unstructured.Unstructured, error) { return nil, row.err }
			in, problems, err := offline.Files{Stdin: strings.NewReader(inUse)}.Configuration([]string{"-"})
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			a, err := preview.Run(t.Context(), p, in, w)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := a.Write(&text); err != nil {
				t.Fatal(err)
			}
			blocked := row.decision == preview.Blocked
			if a.Decision != row.decision || a.Applies() == blocked || (len(a.Blocked) > 0) != blocked || !strings.Contains(text.String(), row.text) {
				t.Errorf("decision %s, want %s:\n%s", a.Decision, row.decision, text.String())
			}
		})
	}
}

func TestPlanSendsTheNetworkToTheAPIServer(t *testing.T) {
	resource := schema.GroupResource{Group: "operator.openshift.io", Resource: "networks"}
	for _, row := range []struct {
		why      string
		err      error
		decision preview.Decision
		text     string
	}{
		{"it takes it", nil, preview.Safe, ""},
		{"a policy of a third party", apierrors.NewForbidden(resource, "cluster", errors.New("ValidatingAdmissionPolicy 'p' denied request: not today")), preview.Blocked, "Network/cluster: the API server refuses it: "},
		{"a user without permission", apierrors.NewForbidden(resource, "cluster", errors.New(`User "viewer" cannot patch resource "networks"`)), preview.Safe, "Network/cluster: not verified by a dry run: no permission to patch it"},
	} {
		t.Run(row.why, func(t *testing.T) {
			p := pipeline.Pipeline{Registry: networks.Registry()}
			known := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1", Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "h", Port: 6443}}
			w, err := preview.Offline(t.Context(), p, pipeline.Input{Cluster: known})
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			w.Admit = func(_ context.Context, object map[string]any, _ string) error {
				if asked++; object["kind"] != "Network" {
					t.Errorf("asked for %v", object)
				}
				return row.err
			}
			in, problems, err := offline.Files{Stdin: strings.NewReader(inUse)}.Configuration([]string{"-"})
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			a, err := preview.Run(t.Context(), p, in, w)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := a.Write(&text); err != nil {
				t.Fatal(err)
			}
			if a.Decision != row.decision || asked != 1 || !strings.Contains(text.String(), row.text) {
				t.Errorf("decision %s, want %s, asked %d times:\n%s", a.Decision, row.decision, asked, text.String())
			}
		})
	}
}
