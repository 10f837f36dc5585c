// Package hostsync implements host-network-sync, which copies the files of host network configuration to its node, and publishes the node's report to
// the cluster. It does not apply the files: the service on the host does, at the next boot or when the sync agent passes a request to it.
package hostsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

// Publisher publishes reports to the cluster.
type Publisher interface {
	Publish(ctx context.Context, report nodereport.Report) error
}

// Agent syncs the files and the report of one node. All fields except From and Requests must be set.
type Agent struct {
	// Node is the name of the Node object.
	Node string
	// From is the directory of files to copy, and To the directory on the host. If From is empty, no files are copied.
	From, To string
	// Withdraw is true to remove the copied files instead of copying.
	Withdraw bool
	// Report is the file with the report of the service on the host. It may be missing.
	Report string
	// Requests is the file with the requests to all nodes; empty for none. Request is the file on the host for this node's request, and
	// RequestInterval the time after which an unanswered request is written again.
	Requests, Request string
	RequestInterval   time.Duration
	// Interval is the time between two syncs. PublishInterval is the time after which an unchanged report is published again, in case it was
	// deleted.
	Interval, PublishInterval time.Duration
	Publisher                 Publisher
	Now                       func() time.Time
	Log                       *slog.Logger

	last      nodereport.Report
	published time.Time
	passed    []byte
	passedAt  time.Time
}

// Run syncs until the context ends. It logs errors, reports them if possible, and retries.
func (a *Agent) Run(ctx context.Context) {
	ticks := time.NewTicker(a.Interval)
	defer ticks.Stop()
	for {
		if err := a.Once(ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("sync failed, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// Once copies the files, passes a request to the host, and publishes the report if it has changed.
func (a *Agent) Once(ctx context.Context) error {
	syncErr := a.sync()
	content, err := os.ReadFile(a.Report)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(syncErr, fmt.Errorf("read report of the host: %w", err))
	}
	report, err := nodereport.FromHost(a.Node, content)
	if err != nil {
		return errors.Join(syncErr, err)
	}
	if syncErr != nil {
		report.Delivery = syncErr.Error()
	}
	report.Withdrawn = a.Withdraw && syncErr == nil
	if err := a.passRequest(report); err != nil && syncErr == nil {
		syncErr = err
		report.Delivery = err.Error()
	}
	if report == a.last && a.Now().Sub(a.published) < a.PublishInterval {
		return syncErr
	}
	if err := a.Publisher.Publish(ctx, report); err != nil {
		return errors.Join(syncErr, fmt.Errorf("publish report: %w", err))
	}
	a.last, a.published = report, a.Now()
	a.Log.Info("reported", "result", report.Result, "file", report.File)
	return syncErr
}
