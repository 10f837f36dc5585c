package operator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/controller/pki"
	"github.com/cluster-network-operator/cno/internal/controller/signer"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// serviceAccount is the operator's own, in its namespace.
const serviceAccount = "cluster-network-operator"

// certificateLoops lists the loops that make certificates.
func certificateLoops(s *shared) []loop {
	return []loop{
		{name: pki.Name, needs: []schema.GroupKind{{Group: networkv1.GroupVersion.Group, Kind: "OperatorPKI"}}, setup: s.setupPKI},
		{name: signer.Name, setup: s.setupSigner, owns: signer.Owns()},
	}
}

func (s *shared) setupPKI(mgr manager.Manager) error {
	expiration, err := pki.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register metrics of %s: %w", pki.Name, err)
	}
	c := &pki.Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Account: client.ObjectKey{Namespace: s.Namespace, Name: serviceAccount},
		OfCluster: func(namespace string) bool {
			return ofCluster(namespace, s.Registry.Operands(), s.operands.Serves(kindClusterOperator))
		},
		Report: func(found ...status.Finding) { s.board.Report(pki.Name, found...) },
		Events: mgr.GetEventRecorder(pki.Name), Metrics: expiration, Now: time.Now, Log: s.Log.With("loop", pki.Name),
	}
	return c.Setup(mgr)
}

// ofCluster reports whether a namespace is the cluster's. Only OpenShift keeps users from creating namespaces with its prefix.
func ofCluster(namespace string, operands provider.Operands, openshift bool) bool {
	return slices.Contains(admission.Namespaces(operands), namespace) || openshift && strings.HasPrefix(namespace, "openshift-")
}

func (s *shared) setupSigner(mgr manager.Manager) error {
	counts, err := signer.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register metrics of %s: %w", signer.Name, err)
	}
	c := &signer.Controller{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: s.Namespace, Policy: signer.Nodes(),
		Report: func(found ...status.Finding) { s.board.Report(signer.Name, found...) },
		Events: mgr.GetEventRecorder(signer.Name), Metrics: counts, Now: time.Now, Log: s.Log.With("loop", signer.Name),
	}
	return c.Setup(mgr)
}
