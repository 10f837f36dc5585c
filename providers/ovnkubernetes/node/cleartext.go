package node

import (
	"context"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
)

// blockCleartext drops unencrypted tunnel packets if IPsec requires it, before the first pod starts: the IPsec agent may start later. While IPsec is off, it
// removes the rules, which the IPsec agent may not have been able to remove. In other phases that agent manages them.
func (d *daemonState) blockCleartext(ctx context.Context) error {
	phase, err := ipsec.Phase(d.Config.IPsec.ConfigDir)
	if err != nil {
		return err
	}
	if d.phase != nil && *d.phase == phase {
		return nil
	}
	switch phase {
	case agentconfig.PhaseRequire:
		var esp ipsec.ESP
		if esp, err = ipsec.NewESP(d.Config.TunnelAddress, d.Config.TunnelPort, d.Config.Directories.ProcSys, !d.userspace); err == nil {
			err = ipsec.BlockCleartext(ctx, phase, d.Config.TunnelAddress, d.Config.TunnelPort, esp)
		}
	default:
		err = ipsec.UnblockCleartext(ctx)
	}
	if err == nil {
		d.phase = &phase
	}
	return err
}
