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
	// auditEvery is how often the settings of audit messages and the size of their file are looked at.
	auditEvery = 5 * time.Second
	megabyte   = 1_000_000
	// auditStamp is the part of the names of complete files that orders them.
	auditStamp = "2006-01-02T15-04-05.000000"
)

// Audit reads how messages about NetworkPolicies are written. Without the file the defaults apply.
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

// auditArguments have ovn-controller write the messages of its module acl_log, and those alone, into the file and to the destination. The
// destination comes first: it is ignored once a message is logged, and opening the file logs one.
func auditArguments(c config.Config, a agentconfig.Audit) []string {
	return []string{
		"--syslog-method=" + a.Destination, "-vFACILITY:" + a.Facility, "-vsyslog:off", "-vsyslog:acl_log:info",
		"--log-file=" + c.Directories.AuditLog, "-vfile:off", "-vfile:acl_log:info", "-vconsole:acl_log:off",
	}
}

// restarts reports whether ovn-controller has to start again for other settings: it opens its syslog once.
func restarts(was, is agentconfig.Audit) bool {
	return was.Destination != is.Destination || was.Facility != is.Facility
}

// followAudit rotates the file of audit messages until the context ends. It returns when settings change for which ovn-controller has to
// start again.
func followAudit(ctx context.Context, c config.Config, started agentconfig.Audit, log *slog.Logger) {
	for {
		agent.Pause(ctx, auditEvery, nil)
		if ctx.Err() != nil {
			return
		}
		now, err := Audit(c)
		if err != nil {
			log.Warn("the settings of audit messages stay as they are", "error", err)
			continue
		}
		if restarts(started, now) {
			log.Info("ovn-controller starts again, as the destination of audit messages has changed; flows stay", "destination", now.Destination, "facility", now.Facility)
			return
		}
		if err := rotate(ctx, c.Directories, now, time.Now()); err != nil && ctx.Err() == nil {
			log.Warn("rotate the file of audit messages", "error", err)
		}
	}
}

// rotate completes the file of audit messages when it has its size, and deletes the oldest of the complete ones that are too many. No message is
// lost: ovn-controller writes to the file under its new name until it opens the next one.
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
