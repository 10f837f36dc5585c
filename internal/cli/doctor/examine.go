package doctor

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/redact"
)

// objectsOf returns a reader of typed objects.
func objectsOf(config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper) (client.Reader, error) {
	// The default scheme has the kinds of Kubernetes itself.
	objects, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return objects, nil
}

// examine calls the Examiner of the network, if there is one, which compares the network with the cluster's objects.
func (c *collector) examine(ctx context.Context, found *collected) {
	network, _ := found.named(section{resource: networkObjects}.name(), operatorv1.NetworkName)
	kind, _, _ := unstructured.NestedString(network, "spec", "defaultNetwork", "type")
	if network != nil && kind == "" { // an omitted type is that of the applied configuration
		kind = c.appliedType(ctx)
	}
	examiner := c.examiner(operatorv1.NetworkType(kind))
	if examiner == nil {
		return
	}
	result := examiner.Examine(ctx, c.access)
	found.mu.Lock()
	defer found.mu.Unlock()
	found.symptoms = result.Symptoms
	for _, text := range result.Missing {
		found.missing = append(found.missing, redact.Text("comparison of the network: "+text))
	}
}

// appliedType returns the network type in the record of the operator; empty if there is none.
func (c *collector) appliedType(ctx context.Context) string {
	record, err := c.api.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(c.namespace).Get(ctx, applied.ConfigMapName, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	data, _, _ := unstructured.NestedStringMap(record.Object, "data")
	if spec := applied.SpecOf(data); spec != nil {
		return string(spec.DefaultNetwork.Type)
	}
	return ""
}

// symptomFindings reports the symptoms that the network has found.
func symptomFindings(all []provider.Symptom) []Finding {
	var out []Finding
	for _, s := range all {
		severity := Warning
		if s.Severe {
			severity = Critical
		}
		out = append(out, Finding{severity, redact.Text(s.What), redact.Text(s.Cause), s.WayOut})
	}
	return out
}
