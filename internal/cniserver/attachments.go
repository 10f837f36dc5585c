package cniserver

import (
	"context"
	"errors"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
)

// Sweep removes attachments whose ADD did not finish, or whose network namespace is gone, for example after a restart of the
// node. What cannot be removed is logged, and removed by a later DEL, GC or start.
func (s *Server) Sweep(ctx context.Context) {
	records, err := s.store.all()
	if err != nil {
		s.Log.Error("some records of attachments cannot be read", "error", err)
	}
	for _, r := range records {
		id, err := nsid.Of(r.Call.NetNS)
		if r.Result != nil && err == nil && id == r.NetNSID {
			continue
		}
		if err := s.removeOf(ctx, r); err != nil {
			s.Log.Error("an attachment of an earlier process is not removed", "container", r.Call.ContainerID, "interface", r.Call.IfName, "error", err)
		}
	}
}

// Serving reports whether the server accepts requests.
func (s *Server) Serving() bool { return s.serving.Load() }

// Containers returns the sandboxes with attachments, also those whose ADD runs.
func (s *Server) Containers() (map[string]bool, error) {
	records, err := s.store.all()
	out := map[string]bool{}
	for _, r := range records {
		out[r.Call.ContainerID] = true
	}
	return out, err
}

// Each calls visit with every attachment for which match is true, whose ADD has succeeded and whose network namespace exists, in the turn of its
// sandbox: no request of it runs meanwhile. It does not wait for an ADD that runs. Before the server serves there are no attachments. The
// error has all errors.
func (s *Server) Each(ctx context.Context, match func(Call) bool, visit func(context.Context, Call) error) error {
	if !s.serving.Load() {
		return nil
	}
	records, err := s.store.all()
	errs := []error{err}
	for _, r := range records {
		if r.Result != nil && match(r.Call) {
			errs = append(errs, s.each(ctx, r.Call, visit))
		}
	}
	return errors.Join(errs...)
}

// All is Each for every attachment. It waits for ADDs that run.
func (s *Server) All(ctx context.Context, visit func(context.Context, Call) error) error {
	if !s.serving.Load() {
		return nil
	}
	records, err := s.store.all()
	errs := []error{err}
	for _, r := range records {
		errs = append(errs, s.each(ctx, r.Call, visit))
	}
	return errors.Join(errs...)
}

func (s *Server) each(ctx context.Context, call Call, visit func(context.Context, Call) error) error {
	leave, err := s.queue.enter(ctx, call.ContainerID)
	if err != nil {
		return err
	}
	defer leave()
	r, err := s.store.get(call.key())
	if err != nil || r == nil || r.Result == nil {
		return err
	}
	if id, err := nsid.Of(r.Call.NetNS); err != nil || id != r.NetNSID {
		return nil //nolint:nilerr // the sandbox is gone, which Sweep, DEL or GC notice
	}
	return visit(ctx, r.Call)
}
