package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// AnnotationFor names the networks of a policy, separated by commas: name, or namespace/name. A policy without it has no effect.
const AnnotationFor = "k8s.v1.cni.cncf.io/policy-for"

// PathFor is the path of AnnotationFor in errors; its index is that of a network.
var PathFor = field.NewPath("metadata", "annotations").Key(AnnotationFor)

// Read reads a MultiNetworkPolicy. If there are errors, it returns the most restrictive policy that the object can mean: rules that cannot be read match
// no traffic, a pod selector that cannot be read selects all pods of the namespace, and networks that cannot be read are all networks.
func Read(object *unstructured.Unstructured) (Policy, field.ErrorList) {
	p := Policy{NetworkPolicy: networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}}
	var errs field.ErrorList
	p.Networks, errs = networksOf(object.GetAnnotations()[AnnotationFor], object.GetNamespace())
	p.AllNetworks = len(errs) > 0
	// The fields are those of a NetworkPolicy.
	raw, err := json.Marshal(object.Object["spec"])
	if err == nil {
		err = json.Unmarshal(raw, &p.Spec)
	}
	if err != nil {
		p.Spec = networkingv1.NetworkPolicySpec{PolicyTypes: bothTypes}
		return p, append(errs, field.Invalid(field.NewPath("spec"), strictjson.Short(string(raw)), err.Error()))
	}
	if _, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "podSelector"), "", err.Error()))
		p.Spec.PodSelector = metav1.LabelSelector{}
	}
	for i, t := range p.Spec.PolicyTypes {
		if !slices.Contains(bothTypes, t) {
			errs = append(errs, field.NotSupported(field.NewPath("spec", "policyTypes").Index(i), t, bothTypes))
			p.Spec.PolicyTypes = bothTypes
			break
		}
	}
	_, problems := netpolicy.OutlineOf(&p.NetworkPolicy)
	for _, problem := range problems {
		errs = append(errs, field.Forbidden(field.NewPath(problem.Field), problem.Detail))
	}
	return p, errs
}

var bothTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}

// networksOf reads the annotation of a policy.
func networksOf(annotation, namespace string) ([]string, field.ErrorList) {
	if strings.TrimSpace(annotation) == "" {
		return nil, nil
	}
	var networks []string
	var errs field.ErrorList
	for i, text := range strings.Split(annotation, ",") {
		ns, name, qualified := strings.Cut(strings.TrimSpace(text), "/")
		if !qualified {
			ns, name = namespace, ns
		}
		if len(validation.IsDNS1123Label(ns)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			errs = append(errs, field.Invalid(PathFor.Index(i), strictjson.Short(text), "must be the name of a NetworkAttachmentDefinition, or namespace/name"))
			continue
		}
		networks = append(networks, ns+"/"+name)
	}
	return networks, errs
}

// Reader reads the policies of a cluster, and remembers the last valid form of each. NewReader creates it.
type Reader struct{ valid map[types.UID]Policy }

// NewReader returns a reader with the last valid forms of policies from an earlier process; nil for none.
func NewReader(valid map[types.UID]Policy) *Reader { return &Reader{valid} }

// Valid returns the last valid forms of the existing policies. The caller must not change the map.
func (r *Reader) Valid() map[types.UID]Policy { return r.valid }

// Problem is an invalid policy.
type Problem struct {
	Policy     types.NamespacedName
	UID        types.UID
	Generation int64
	// Sentence has the errors, and the form in which the policy is enforced.
	Sentence string
	// For is the policy as it is enforced.
	For Policy
}

// Read returns the policies of all objects of the cluster. An invalid policy keeps its last valid form; if it has none, it is the result of the function
// Read.
func (r *Reader) Read(objects []*unstructured.Unstructured) ([]Policy, []Problem) {
	var policies []Policy
	var problems []Problem
	valid := map[types.UID]Policy{}
	for _, object := range objects {
		p, errs := Read(object)
		uid := object.GetUID()
		if len(errs) == 0 {
			valid[uid] = p
			policies = append(policies, p)
			continue
		}
		sentence := "the policy isolates its pods, and allows only what can be read"
		if last, known := r.valid[uid]; known {
			p, valid[uid] = last, last
			sentence = "its last valid form stays active"
		}
		policies = append(policies, p)
		problems = append(problems, Problem{
			types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, uid, object.GetGeneration(), fmt.Sprintf("%v; %s", errs.ToAggregate(), sentence), p,
		})
	}
	r.valid = valid
	return policies, problems
}
