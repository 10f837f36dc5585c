// Package logging sets up the log of a binary: structured lines on a writer, to which the loggers of controller-runtime
// and client-go are bridged. Its level can change at run time.
//
// Info logs changes, Debug decisions. Errors are logged once, where they are handled.
package logging

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Setup returns a logger that writes lines of JSON to out, starting at level, and makes controller-runtime and
// client-go use it too. The zero level is Info.
func Setup(out io.Writer, level *slog.LevelVar) *slog.Logger {
	logger := slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	bridge := logr.FromSlogHandler(&offset{Handler: logger.Handler()})
	ctrllog.SetLogger(bridge)
	klog.SetLogger(bridge)
	return logger
}

// Level returns the level for a log level of the API. An empty or unknown one means Normal, which is Info.
func Level(name osv1.LogLevel) slog.Level {
	switch name {
	case osv1.Debug:
		return slog.LevelDebug
	case osv1.Trace:
		return slog.LevelDebug - 2
	case osv1.TraceAll:
		return slog.LevelDebug - 6
	default:
		return slog.LevelInfo
	}
}
