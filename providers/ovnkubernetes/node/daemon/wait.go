package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

const (
	// pollInterval is how often a prerequisite is checked, logInterval how often a missing one is logged.
	pollInterval = 100 * time.Millisecond
	logInterval  = 30 * time.Second
)

// wait waits until a check succeeds. It returns the error of the context.
func wait(ctx context.Context, log *slog.Logger, what string, check func(context.Context) error) error {
	var reported time.Time
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if now := time.Now(); now.Sub(reported) >= logInterval {
			reported = now
			log.Info("waiting for "+what, "state", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// listening checks that a process listens on a Unix socket.
func listening(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// configured checks that Open vSwitch's database has the configuration of ovn-controller.
func configured(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		client, err := ovsdb.Dial(ctx, socket)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		results, err := client.Transact(ctx, "Open_vSwitch", ovsdb.Select("Open_vSwitch", []string{"external_ids"}))
		if err != nil {
			return err
		}
		for _, row := range results[0].Rows {
			if ids := row.Map("external_ids"); ids["system-id"] != "" && ids["ovn-remote"] != "" {
				return nil
			}
		}
		return errors.New("external IDs system-id and ovn-remote are missing in the database of Open vSwitch")
	}
}

// present checks that files exist and are not empty.
func present(files ...string) func(context.Context) error {
	return func(context.Context) error {
		var errs []error
		for _, f := range files {
			info, err := os.Stat(f)
			if err == nil && info.Size() == 0 {
				err = fmt.Errorf("%s is empty", f)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}
