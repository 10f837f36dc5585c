package filelock

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOneHolderAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory", "lock")
	unlock, err := Acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 3*poll)
	defer cancel()
	if _, err := Acquire(short, path); err == nil || !strings.Contains(err.Error(), "another command holds it") {
		t.Errorf("a second one: %v", err)
	}

	got := make(chan error, 1)
	go func() {
		unlock, err := Acquire(t.Context(), path)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the waiting process did not acquire the lock")
	}
}
