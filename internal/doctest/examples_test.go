package doctest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/template"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/doctest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

func TestMain(m *testing.M) {
	sdn, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err)
	}
	apitest.Main(m, apitest.Options{CRDs: sdn})
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExamplesInTheDocumentsWork(t *testing.T) {
	blocks, err := doctest.Blocks(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	executed := 0
	for _, block := range blocks {
		objects, err := block.Objects()
		if err != nil {
			t.Error(err)
		}
		for _, object := range objects {
			if !ours(object) {
				continue
			}
			executed++
			err := apply(t, object)
			switch {
			case block.Refused:
				checkRefused(t, block, err)
			case err != nil:
				t.Errorf("%s: %v", block, err)
			default:
				checkValid(t, block.String(), object)
			}
		}
	}
	if executed < 5 {
		t.Errorf("executed only %d examples; are they still found?", executed)
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	samples, err := filepath.Glob(filepath.Join(root(t), "config", "samples", "*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("found %d samples, %v", len(samples), err)
	}
	for _, sample := range samples {
		t.Run(filepath.Base(sample), func(t *testing.T) {
			content, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := doctest.Objects(content)
			if err != nil || len(objects) != 1 || !ours(objects[0]) {
				t.Fatalf("got %d objects, %v; want one of this project", len(objects), err)
			}
			if err := apply(t, objects[0]); err != nil {
				t.Fatal(err)
			}
			checkValid(t, sample, objects[0])
		})
	}
}

// ours reports whether the object is in one of the groups that this project serves.
func ours(object *unstructured.Unstructured) bool {
	group := object.GroupVersionKind().Group
	return group == operatorv1.GroupVersion.Group || group == networkoperatorv1.GroupVersion.Group || group == networkv1.GroupVersion.Group ||
		group == sdnv1.GroupVersion.Group
}

// apply sends a dry-run apply of an object to the API server.
func apply(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	c := client.WithFieldValidation(apitest.Shared(t).Client, metav1.FieldValidationStrict)
	return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("doctest"), client.DryRunAll)
}

func checkRefused(t *testing.T, block doctest.Block, err error) {
	t.Helper()
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) {
		t.Errorf("%s: got %v, want a refusal", block, err)
		return
	}
	var answers []string
	for _, cause := range status.ErrStatus.Details.Causes {
		answers = append(answers, cause.Field+": "+cause.Message)
	}
	for _, want := range block.Answer {
		if !slices.Contains(answers, want) {
			t.Errorf("%s: the document has\n%s\nthe server returns\n%s", block, want, strings.Join(answers, "\n"))
		}
	}
}

// declaredByKubeadm returns what a cluster of kubeadm declares for fields that an example omits.
func declaredByKubeadm() *facts.Declared {
	d := &facts.Declared{}
	d.Pods, d.Services = declared.Kubeadm("networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}")
	return d
}

// checkValid wants the operator to accept an object too.
func checkValid(t *testing.T, where string, object *unstructured.Unstructured) {
	t.Helper()
	var spec *operatorv1.NetworkSpec
	switch object.GetKind() {
	case "Network":
		network := &operatorv1.Network{}
		decode(t, object, network)
		spec = &network.Spec
	case "NetworkConfig":
		config := &networkoperatorv1.NetworkConfig{}
		decode(t, object, config)
		converted, errs := networkconfig.Convert(&config.Spec)
		if len(errs) > 0 {
			t.Errorf("%s: %v", where, errs.ToAggregate())
			return
		}
		spec = converted
	case "OperatorPKI": // all its rules are the API server's
		return
	case "HostNetworkConfig":
		config := &networkv1.HostNetworkConfig{}
		decode(t, object, config)
		if _, errs := template.Render(&config.Spec); len(errs) > 0 {
			t.Errorf("%s: %v", where, errs.ToAggregate())
		}
		return
	default: // the rules of its definition are all there are
		return
	}
	p := pipeline.Pipeline{Registry: networks.Registry()}
	if _, err := p.Run(context.Background(), pipeline.Input{Desired: spec, Cluster: facts.Cluster{Declared: declaredByKubeadm()}}, pipeline.Validate); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

func decode(t *testing.T, object *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		t.Fatal(err)
	}
}
