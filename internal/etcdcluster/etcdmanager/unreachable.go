package etcdmanager

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Unreachable reports that etcd does not answer, except while its first member is being started.
func (r *Run) Unreachable(err error) {
	r.Failed()
	for _, m := range r.Members.Members {
		if r.Settings.Managed != nil && m.Votes() && m.ID == "" {
			return
		}
	}
	f := r.Finding(status.Degraded, "EtcdUnreachable",
		fmt.Sprintf("%s at %s does not answer: %v; pods that run keep their network, nodes that join get none until it answers",
			r.cluster.Title(), strings.Join(r.votersOrExternal(), ", "), err))
	f.Meanwhile = status.Progressing
	r.Findings = append(r.Findings, f)
}
