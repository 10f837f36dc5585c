package ipsec

import (
	"context"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/podreport"
)

const (
	// reportSettle is how long further changes are waited for before they are reported, reportRetry how long after an error.
	reportSettle, reportRetry = time.Second, 5 * time.Second
)

// keepReport keeps the report of the node in the annotation of the agent's pod until the context ends. It writes nothing that is there already.
func (s *state) keepReport(ctx context.Context) {
	written := ""
	for ctx.Err() == nil {
		view, changed := s.board.Get()
		text := ""
		if view.Status.report.Phase != "" {
			var err error
			if text, err = view.Status.report.Encode(); err != nil {
				s.board.Note(topicReport, err)
			}
		}
		if text == written {
			agent.Wait(ctx, changed, nil, nil)
			continue
		}
		err := podreport.Write(ctx, s.Client, s.Config.Pod, agentconfig.IPsecAnnotation, text, "ovn-ipsec")
		if ctx.Err() != nil {
			return
		}
		s.board.Note(topicReport, err)
		pause := reportSettle
		if err != nil {
			pause = reportRetry
		} else {
			written = text
		}
		agent.Pause(ctx, pause, nil)
	}
}
