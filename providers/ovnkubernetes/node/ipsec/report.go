package ipsec

import (
	"context"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/podreport"
)

const (
	// reportDebounce is how long the agent waits for further changes before a report. reportRetry is the delay after an error.
	reportDebounce, reportRetry = time.Second, 5 * time.Second
)

// keepReport keeps the annotation of the agent's pod up to date until the context ends. It writes only changes.
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
		pause := reportDebounce
		if err != nil {
			pause = reportRetry
		} else {
			written = text
		}
		agent.Pause(ctx, pause, nil)
	}
}
