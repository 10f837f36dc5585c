// Package filelock provides mutual exclusion between processes with file locks,
// which the kernel releases when their holder ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// poll is short compared to the time for which locks are held.
const poll = 50 * time.Millisecond

// Acquire acquires the lock of the file, which it creates if it is missing. It
// waits until the context is done.
func Acquire(ctx context.Context, path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	for {
		unlock, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-time.After(poll):
		}
	}
}

// ErrHeld is the error if another process holds the lock: of Try, and of Acquire when its context is done.
var ErrHeld = errors.New("another command holds it")

// Try acquires the lock of the file, which it creates if it is missing, without waiting.
func Try(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrHeld
	}
	return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
}
