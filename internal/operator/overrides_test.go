package operator

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
)

// recorded is a cache with the record that has some data, or none.
type recorded map[string]string

func (r recorded) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if r == nil {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	o.(*corev1.ConfigMap).Data = r
	return nil
}

func (recorded) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestOverridesAreThoseThatAreApplied(t *testing.T) {
	spec := newNetwork().Spec
	spec.Workloads = []operatorv1.Workload{{Name: "egress-router-cni"}}
	intent, err := applied.NewSnapshot(&spec)
	if err != nil {
		t.Fatal(err)
	}
	record, err := applied.Record{}.Begin(applied.Start{Intent: intent, Number: 1}).MarkApplying()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why    string
		record recorded
		want   int
		fails  bool
	}{
		{"a fresh cluster has none", nil, 0, false},
		{"those of the record, after a start", record.Encode(), 1, false},
		{"without the record pods must not restart", recorded{"state": "?"}, 0, true},
	} {
		o := &overrides{reader: row.record, namespace: "n"}
		got, err := o.get(t.Context())
		if len(got) != row.want || (err != nil) != row.fails {
			t.Errorf("%s: got %v, %v", row.why, got, err)
		}
		if multi, _, err := o.multiNetwork(t.Context()); multi != (row.want > 0) || (err != nil) != row.fails {
			t.Errorf("%s: multiple networks: %v, %v", row.why, multi, err)
		}
		o.set(&operatorv1.NetworkSpec{Workloads: make([]operatorv1.Workload, 3)})
		if got, err := o.get(t.Context()); len(got) != 3 || err != nil {
			t.Errorf("%s: after a revision was applied: got %v, %v", row.why, got, err)
		}
		o.set(&operatorv1.NetworkSpec{DisableMultiNetwork: new(true)})
		if multi, _, err := o.multiNetwork(t.Context()); multi || err != nil {
			t.Errorf("%s: multiple networks are disabled: %v, %v", row.why, multi, err)
		}
	}
}
