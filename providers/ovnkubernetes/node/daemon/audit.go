package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

const (
	// auditInterval is how often the settings of audit messages and the size of their file are checked.
	auditInterval = 5 * time.Second
	megabyte      = 1_000_000
	// auditStamp is the timestamp in the names of rotated files.
	auditStamp = "2006-01-02T15-04-05.000000"
)

// Audit reads the settings of NetworkPolicy audit messages. Without the file it returns the defaults.
func Audit(c config.Config) (agentconfig.Audit, error) {
	content, err := os.ReadFile(c.Directories.PolicyAudit)
	if errors.Is(err, fs.ErrNotExist) {
		return agentconfig.DefaultAudit(), nil
	}
	if err != nil {
		return agentconfig.DefaultAudit(), fmt.Errorf("read the settings of audit messages: %w", err)
	}
	return agentconfig.DecodeAudit(content)
}

// auditArguments returns the arguments with which ovn-controller writes only the messages of its module acl_log to the file and the destination. The
// destination comes first: ovn-controller ignores it after the first message, and opening the file logs one.
func auditArguments(c config.Config, a agentconfig.Audit) []string {
	return []string{
		"--syslog-method=" + a.Destination, "-vFACILITY:" + a.Facility, "-vsyslog:off", "-vsyslog:acl_log:info",
		"--log-file=" + c.Directories.AuditLog, "-vfile:off", "-vfile:acl_log:info", "-vconsole:acl_log:off",
	}
}

// needsRestart reports whether ovn-controller must restart for changed settings: it opens its syslog destination only once.
func needsRestart(before, now agentconfig.Audit) bool {
	return before.Destination != now.Destination || before.Facility != now.Facility
}

// watchAudit rotates the file of audit messages until the context ends. It returns when settings change that require a restart of ovn-controller.
func watchAudit(ctx context.Context, c config.Config, started agentconfig.Audit, log *slog.Logger) {
	for {
		agent.Pause(ctx, auditInterval, nil)
		if ctx.Err() != nil {
			return
		}
		now, err := Audit(c)
		if err != nil {
			log.Warn("cannot read the settings of audit messages; the current ones remain", "error", err)
			continue
		}
		if needsRestart(started, now) {
			log.Info("restarting ovn-controller, since the destination of audit messages has changed; flows stay", "destination", now.Destination, "facility", now.Facility)
			return
		}
		if err := rotate(ctx, c.Directories, now, time.Now()); err != nil && ctx.Err() == nil {
			log.Warn("rotate the file of audit messages", "error", err)
		}
	}
}

// rotate rotates the file of audit messages when it has reached its size, and deletes the oldest rotated files. No message is lost: ovn-controller writes to
// the renamed file until it opens the next one.
func rotate(ctx context.Context, d config.Directories, a agentconfig.Audit, now time.Time) error {
	info, err := os.Stat(d.AuditLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	extension := filepath.Ext(d.AuditLog)
	name := strings.TrimSuffix(d.AuditLog, extension)
	if info.Size() >= int64(a.MaxFileSize)*megabyte {
		if err := os.Rename(d.AuditLog, name+"."+now.UTC().Format(auditStamp)+extension); err != nil {
			return err
		}
		if _, err := ovs.Control(d.ControllerControl()).Call(ctx, "vlog/reopen"); err != nil {
			return fmt.Errorf("have ovn-controller open the next file: %w", err)
		}
	}
	complete, err := filepath.Glob(name + ".*" + extension)
	if err != nil {
		return err
	}
	slices.Sort(complete)
	for ; len(complete) > int(a.MaxLogFiles); complete = complete[1:] {
		if err := os.Remove(complete[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
