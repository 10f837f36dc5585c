package doctor

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
)

// judgeFurtherNetworks names definitions of further networks, and policies on them, that are invalid in any cluster: pods that ask for such a network do
// not start, and such a policy isolates more than it says. What depends on a node is an event on the pod that finds it.
func judgeFurtherNetworks(definitions, policies []map[string]any) []Finding {
	return slices.Concat(
		invalidObjects(definitions, "NetworkAttachmentDefinitions", "pods that ask for these networks do not start", definitionErrors),
		invalidObjects(policies, "MultiNetworkPolicies", "they are enforced in their last valid form, or isolate the pods that they select", policyErrors),
	)
}

func definitionErrors(u *unstructured.Unstructured) field.ErrorList {
	config, _, err := unstructured.NestedString(u.Object, "spec", "config")
	if err != nil {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "config"), err.Error())}
	}
	if strings.TrimSpace(config) == "" {
		return nil // nodes have the configuration in a file
	}
	_, errs := definition.Parse(u.GetNamespace(), u.GetName(), config, definition.Rules{})
	return errs
}

func policyErrors(u *unstructured.Unstructured) field.ErrorList {
	_, errs := policy.Read(u)
	return errs
}

// invalidObjects is the finding about objects of one kind; effect is what their errors lead to.
func invalidObjects(objects []map[string]any, kind, effect string, errorsOf func(*unstructured.Unstructured) field.ErrorList) []Finding {
	var named []string
	count := 0
	for _, o := range objects {
		u := &unstructured.Unstructured{Object: o}
		errs := errorsOf(u)
		if len(errs) == 0 {
			continue
		}
		if count++; count <= mostNamed {
			named = append(named, fmt.Sprintf("%s/%s: %v", u.GetNamespace(), u.GetName(), errs.ToAggregate()))
		}
	}
	if count == 0 {
		return nil
	}
	cause := strings.Join(named, "; ")
	if more := count - len(named); more > 0 {
		cause += fmt.Sprintf(" and %d more", more)
	}
	return []Finding{{Warning, fmt.Sprintf("%s are invalid: %d; %s", kind, count, effect), cause, "correct these objects"}}
}
