package operator

import (
	"github.com/cluster-network-operator/cno/internal/controller/machineconfig"
)

// openShiftLoops are those that only have to do where OpenShift's kinds are served.
func openShiftLoops(s *shared) []loop {
	pools := &machineconfig.Controller{Namespace: s.Namespace, Board: s.board, Log: s.Log.With("loop", machineconfig.Name)}
	return []loop{
		{name: machineconfig.Name, needs: machineconfig.Needs(), setup: pools.Setup, owns: machineconfig.Owns()},
	}
}
