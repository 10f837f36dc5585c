// Package filelock keeps processes out of one another's way by locks on files,
// which the kernel gives back when their holder ends, in whatever manner.
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

// poll is short against what locks are held for.
const poll = 50 * time.Millisecond

// Acquire takes the lock of the file, which it makes when missing, and waits
// for it until the context is done.
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

// ErrHeld is the error of Try, and of Acquire when its time is up.
var ErrHeld = errors.New("another command holds it")

// Try takes the lock of the file, which it makes when missing, if it is free.
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
