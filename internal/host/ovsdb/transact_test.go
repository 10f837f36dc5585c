package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestRefusalsNameTheOperation(t *testing.T) {
	c := dial(t, server(t))
	insert := Insert("Open_vSwitch", "", map[string]any{"next_cfg": 1})
	if _, err := c.Transact(t.Context(), db, insert); err != nil {
		t.Fatal(err)
	}
	guard := func(n int) Operation { return Guard("Open_vSwitch", map[string]any{"next_cfg": n}) }
	for _, tt := range []struct {
		reason     string
		operations []Operation
		want       OperationError
		text       string
	}{
		{"a guard", []Operation{Select("Queue", []string{"_uuid"}), guard(2)}, OperationError{Index: 1, Operation: "wait", Table: "Open_vSwitch", Code: "timed out"},
			"operation 2, wait Open_vSwitch: timed out"},
		{"a column that does not exist", []Operation{Update("Bridge", map[string]any{"colour": 1})},
			OperationError{Index: 0, Operation: "update", Table: "Bridge", Code: "unknown column"}, "No column colour"},
		{"a reference to nothing", []Operation{guard(1), Update("Open_vSwitch", map[string]any{"bridges": zeroUUID})},
			OperationError{Index: 2, Operation: "commit", Code: "referential integrity violation"}, "commit: referential integrity violation"},
		{"a second row of a table that may have one", []Operation{insert}, OperationError{Index: 1, Operation: "commit", Code: "constraint violation"}, "Open_vSwitch"},
	} {
		_, err := c.Transact(t.Context(), db, tt.operations...)
		var got *OperationError
		var unknown *UnknownOutcomeError
		if !errors.As(err, &got) || errors.As(err, &unknown) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		comparable := *got
		comparable.Details = ""
		if diff := cmp.Diff(tt.want, comparable); diff != "" {
			t.Errorf("%s: %s", tt.reason, diff)
		}
	}
	results, err := c.Transact(t.Context(), db, guard(1), Mutate("Open_vSwitch", "next_cfg", "+=", 1), Delete("Queue"))
	if err != nil || results[1].Count != 1 || results[2].Count != 0 {
		t.Errorf("a guard that holds: %v, %v", results, err)
	}
	if _, err := c.Transact(t.Context(), "None"); !errors.As(err, new(*ServerError)) || !strings.Contains(err.Error(), "unknown database") {
		t.Errorf("another database: %v", err)
	}
}

func TestCanceledTransactionIsUnknownAndDoesNotHappenLater(t *testing.T) {
	between := proxied(t, server(t))
	c := dial(t, between.socket)
	if _, err := c.Transact(t.Context(), db, Insert("Open_vSwitch", "", map[string]any{})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan error)
	go func() {
		_, err := c.Transact(ctx, db, Wait("Open_vSwitch", time.Hour, []string{"next_cfg"}, "==", []map[string]any{{"next_cfg": 1}}),
			Insert("Queue", "", map[string]any{"dscp": 1}))
		outcome <- err
	}()
	eventually.Is(t, "the server has the transaction", func() bool { return between.passed.Load() == 2 })
	cancel()
	if err := <-outcome; !errors.Is(err, context.Canceled) || !errors.As(err, new(*UnknownOutcomeError)) {
		t.Errorf("a canceled transaction: %v", err)
	}
	rows, err := c.Transact(t.Context(), db, Update("Open_vSwitch", map[string]any{"next_cfg": 1}), Select("Queue", []string{"dscp"}))
	if err != nil || len(rows[1].Rows) != 0 {
		t.Errorf("%v, %v", rows, err)
	}
	if rows, err = c.Transact(t.Context(), db, Select("Queue", []string{"dscp"})); err != nil || len(rows[0].Rows) != 0 {
		t.Errorf("the canceled transaction happened: %v, %v", rows, err)
	}
}

func TestLostTransactionIsUnknown(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		answer  string
		unknown bool
	}{
		{"the connection ends", "", true},
		{"an answer that is no list", `{"id":1,"result":7,"error":null}`, true},
		{"an answer that is too short", `{"id":1,"result":[],"error":null}`, true},
		{"a cluster that cannot say", `{"id":1,"result":[null,{"error":"cluster error","details":"timeout"}],"error":null}`, true},
		{"a result that is no object", `{"id":1,"result":[7],"error":null}`, true},
		{"a refusal", `{"id":1,"result":[{"error":"timed out"}],"error":null}`, false},
		{"a cancellation by the server", `{"id":1,"result":null,"error":"canceled"}`, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, far := piped(t, Options{})
			go func() {
				var m json.RawMessage
				_ = json.NewDecoder(far).Decode(&m)
				_, _ = far.Write([]byte(tt.answer))
				_ = far.Close()
			}()
			_, err := c.Transact(t.Context(), db, Delete("Bridge"))
			var unknown *UnknownOutcomeError
			if err == nil || errors.As(err, &unknown) != tt.unknown {
				t.Errorf("%s: %v", tt.reason, err)
			}
		})
	}
}

func TestTransactionThatWasNotSentIsAFailure(t *testing.T) {
	c, far := piped(t, Options{})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var unknown *UnknownOutcomeError
	if _, err := c.Transact(canceled, db); !errors.Is(err, context.Canceled) || errors.As(err, &unknown) {
		t.Errorf("a context that had ended: %v", err)
	}
	_ = far.Close()
	<-c.Done()
	if _, err := c.Transact(t.Context(), db); !errors.Is(err, io.EOF) || errors.As(err, &unknown) {
		t.Errorf("a connection that had ended: %v", err)
	}
}
