package signer

import (
	"context"
	"fmt"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// emptyCache knows no node. Requests are read from the API server.
type emptyCache struct{ client.Client }

func (e *emptyCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, request := o.(*certificatesv1.CertificateSigningRequest); request {
		return e.Client.Get(ctx, key, o, opts...)
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
}

func (e *emptyCache) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestOnlyRequestersOfManyRequestsAreThrottled(t *testing.T) {
	var l limiter
	for i := range 100 {
		at := l.reserve("flood", now)
		if want := now.Add(time.Duration(i-burst+1) * interval); !at.Equal(want) {
			t.Fatalf("request %d has its turn at %s, want %s", i, at, want)
		}
	}
	if at := l.reserve("other", now); at.After(now) {
		t.Errorf("another one waits until %s", at)
	}
	if at := l.reserve("flood", now.Add(2*time.Hour)); at.After(now.Add(2 * time.Hour)) {
		t.Error("it waits without a limit")
	}
	l.reserve("other", now.Add(4*time.Hour))
	if len(l.next) != 1 {
		t.Errorf("%d requesters are remembered", len(l.next))
	}
}

func TestEachRequestIsCountedOnce(t *testing.T) {
	w := &cluster{tb: t}
	c := w.controller(nil)
	c.Now = func() time.Time { return now }
	c.Events = discard{}
	csr := func(i int) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("csr-", i), UID: "1"},
			Spec: certificatesv1.CertificateSigningRequestSpec{Username: "flood"}}
	}
	for i := range burst {
		for range 3 { // it is reconciled repeatedly while the CA is missing
			if wait := c.admit(csr(i)); wait > 0 {
				t.Fatalf("request %d waits for %s", i, wait)
			}
		}
	}
	if wait := c.admit(csr(burst)); wait != interval {
		t.Errorf("the first that is too many waits for %s", wait)
	}
	c.Now = func() time.Time { return now.Add(interval) }
	if wait := c.admit(csr(burst)); wait > 0 {
		t.Errorf("its turn has come, and it waits for another %s", wait)
	}
	c.ledger.forget("csr-0")
	if len(c.ledger.entries) != burst {
		t.Errorf("%d requests are remembered", len(c.ledger.entries))
	}
}

// discard is an event recorder that drops all events.
type discard struct{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
