package logging

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

func TestLevelOfAPIName(t *testing.T) {
	for name, want := range map[osv1.LogLevel]slog.Level{
		"":            slog.LevelInfo, // left out by clients that skip the CRD's default
		"Loud":        slog.LevelInfo, // never fail over a log level
		osv1.Normal:   slog.LevelInfo,
		osv1.Debug:    slog.LevelDebug,
		osv1.Trace:    -6,
		osv1.TraceAll: -10,
	} {
		if got := Level(name); got != want {
			t.Errorf("Level(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestLibraryMessagesAreHiddenUntilDebug(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	Setup(&out, level)
	ctrllog.Log.V(1).Info("chatter")
	if out.Len() != 0 {
		t.Errorf("at Info, V(1) was printed: %s", out.String())
	}
	level.Set(slog.LevelDebug)
	ctrllog.Log.V(1).Info("chatter", "key", "value")
	if !strings.Contains(out.String(), `"key":"value"`) {
		t.Errorf("at Debug, V(1) was not printed: %q", out.String())
	}
}
