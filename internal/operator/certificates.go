package operator

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/controller/pki"
	"github.com/cluster-network-operator/cno/internal/controller/signer"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// serviceAccount is the operator's ServiceAccount in its namespace.
const serviceAccount = "cluster-network-operator"

// certificateLoops lists the controllers of certificates.
func certificateLoops(s *shared) []loop.Spec {
	keys := &pki.Controller{
		Client: s.manager.GetClient(), Live: s.manager.GetAPIReader(), Account: client.ObjectKey{Namespace: s.Namespace, Name: serviceAccount},
		OfCluster: func(namespace string) bool {
			return ofCluster(namespace, s.Registry.Operands(), s.operands.Serves(loop.OpenShift()))
		},
		Report: func(found ...status.Finding) { s.board.Report(pki.Name, found...) },
		Events: s.manager.GetEventRecorder(pki.Name), Now: time.Now, Log: s.Log.With("controller", pki.Name),
	}
	var requesters []string
	for _, r := range s.Registry.Operands().Requesters {
		requesters = append(requesters, r.User())
	}
	requests := &signer.Controller{
		Live: s.manager.GetAPIReader(), Namespace: s.Namespace, Policy: signer.Nodes(requesters...),
		Report: func(found ...status.Finding) { s.board.Report(signer.Name, found...) },
		Events: s.manager.GetEventRecorder(signer.Name), Now: time.Now, Log: s.Log.With("controller", signer.Name),
	}
	return slices.Concat(withMetrics(keys.Specs(), pki.NewMetrics, &keys.Metrics), withMetrics(requests.Specs(), signer.NewMetrics, &requests.Metrics))
}

// ofCluster reports whether a namespace belongs to the cluster. Only OpenShift prevents users from creating namespaces with its prefix.
func ofCluster(namespace string, operands provider.Operands, openshift bool) bool {
	return slices.Contains(admission.Namespaces(operands), namespace) || openshift && strings.HasPrefix(namespace, "openshift-")
}
