package logging

import (
	"context"
	"log/slog"
)

// offset is a handler for the libraries' lines. A library's V(1) is already chatter, but logr makes it
// slog's level -1, which lies between Info and Debug; so chatter is moved down to Debug and below.
type offset struct{ slog.Handler }

func (o *offset) Enabled(ctx context.Context, level slog.Level) bool {
	return o.Handler.Enabled(ctx, moved(level))
}

func (o *offset) Handle(ctx context.Context, record slog.Record) error {
	record.Level = moved(record.Level)
	return o.Handler.Handle(ctx, record)
}

func (o *offset) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &offset{Handler: o.Handler.WithAttrs(attrs)}
}

func (o *offset) WithGroup(name string) slog.Handler {
	return &offset{Handler: o.Handler.WithGroup(name)}
}

func moved(level slog.Level) slog.Level {
	if level >= slog.LevelInfo {
		return level
	}
	return slog.LevelDebug + 1 + level
}
