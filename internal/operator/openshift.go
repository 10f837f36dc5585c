package operator

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/config/monitoring"
	"github.com/cluster-network-operator/cno/internal/controller/dashboards"
	"github.com/cluster-network-operator/cno/internal/controller/machineconfig"
	"github.com/cluster-network-operator/cno/internal/controller/networkfeatures"
	"github.com/cluster-network-operator/cno/internal/controller/tlsprofile"
	"github.com/cluster-network-operator/cno/internal/loop"
	settings "github.com/cluster-network-operator/cno/internal/tlsprofile"
)

// openShiftLoops lists the controllers that require OpenShift's APIs.
func openShiftLoops(s *shared) []loop.Spec {
	pools := &machineconfig.Controller{Namespace: s.Namespace, Board: s.board, Log: s.Log.With("controller", machineconfig.Name)}
	console := &dashboards.Controller{Dashboards: monitoring.Dashboards(), Board: s.board, Log: s.Log.With("controller", dashboards.Name)}
	features := &networkfeatures.Controller{Policies: s.Registry.PolicySupport, Board: s.board, Log: s.Log.With("controller", networkfeatures.Name)}
	profile := &tlsprofile.Controller{Started: s.Facts.TLS, Restart: s.end, Board: s.board, Log: s.Log.With("controller", tlsprofile.Name)}
	return slices.Concat(console.Specs(), pools.Specs(), features.Specs(), profile.Specs())
}

// readTLSTimeout is how long the start waits for the TLS profile. The controller reads it again anyway.
const readTLSTimeout = 10 * time.Second

// tlsSettings reads the TLS profile of the cluster. An error does not prevent the start: the network has priority, and the
// defaults are secure.
func (s *shared) tlsSettings(ctx context.Context) settings.Settings {
	ctx, cancel := context.WithTimeout(ctx, readTLSTimeout)
	defer cancel()
	reader, err := client.New(s.reach, client.Options{Mapper: s.mapper})
	var found settings.Settings
	if err == nil {
		found, err = tlsprofile.Read(ctx, reader)
	}
	if err != nil {
		s.Log.Warn("the TLS profile of the cluster cannot be read; programs have their own defaults", "error", err)
	}
	return found
}
