// Package courier brings the files of host network configuration to the node it runs on, and what the node says of them
// to the cluster. It applies nothing: that is done by the program on the host, at the next boot or when the courier passes a request to it.
package courier

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

// Publisher takes reports to the cluster.
type Publisher interface {
	Publish(ctx context.Context, report nodereport.Report) error
}

// Courier works on one node. All fields but From must be set.
type Courier struct {
	// Node is the name of the Node object.
	Node string
	// From is the directory of files to bring, and To the one on the host. Without From nothing is brought: a third party does.
	From, To string
	// Withdraw removes what was brought, and brings nothing.
	Withdraw bool
	// Report is the file in which the program on the host reports its last run. It may be missing.
	Report string
	// Requests is the file with the requests to nodes; empty for none. Request is the file on the host to which this node's is
	// written, and Again after how long it is written again while it is not answered.
	Requests, Request string
	Again             time.Duration
	// Interval is between two looks, and Repeat after how long a report is published again though nothing changed, in case it
	// was deleted.
	Interval, Repeat time.Duration
	Publisher        Publisher
	Now              func() time.Time
	Log              *slog.Logger

	last      nodereport.Report
	published time.Time
	passed    []byte
	passedAt  time.Time
}

// Run works until the context ends. What goes wrong is logged, reported if possible, and tried again.
func (c *Courier) Run(ctx context.Context) {
	ticks := time.NewTicker(c.Interval)
	defer ticks.Stop()
	for {
		if err := c.Once(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("pass failed; it is repeated", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// Once brings the files, passes a request to the host, and publishes the report if it has changed.
func (c *Courier) Once(ctx context.Context) error {
	delivery := c.deliver()
	content, err := os.ReadFile(c.Report)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(delivery, fmt.Errorf("read report of the host: %w", err))
	}
	report, err := nodereport.FromHost(c.Node, content)
	if err != nil {
		return errors.Join(delivery, err)
	}
	if delivery != nil {
		report.Delivery = delivery.Error()
	}
	report.Withdrawn = c.Withdraw && delivery == nil
	if err := c.pass(report); err != nil && delivery == nil {
		delivery = err
		report.Delivery = err.Error()
	}
	if report == c.last && c.Now().Sub(c.published) < c.Repeat {
		return delivery
	}
	if err := c.Publisher.Publish(ctx, report); err != nil {
		return errors.Join(delivery, fmt.Errorf("publish report: %w", err))
	}
	c.last, c.published = report, c.Now()
	c.Log.Info("reported", "result", report.Result, "file", report.File)
	return delivery
}
