package cniserver

import (
	"context"
	"errors"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
)

// Sweep removes attachments whose ADD did not complete, or whose network namespace no longer exists, for example after a restart of the node. Errors are
// logged; a later DEL, GC or start retries.
func (s *Server) Sweep(ctx context.Context) {
	records, err := s.store.all()
	if err != nil {
		s.Log.Error("cannot read some records of attachments", "error", err)
	}
	for _, r := range records {
		id, err := nsid.Of(r.Call.NetNS)
		if r.Result != nil && err == nil && id == r.NetNSID {
			continue
		}
		if err := s.removeRecord(ctx, r); err != nil {
			s.Log.Error("cannot remove an attachment of an earlier process", "container", r.Call.ContainerID, "interface", r.Call.IfName, "error", err)
		}
	}
}

// Serving reports whether the server accepts requests.
func (s *Server) Serving() bool { return s.serving.Load() }

// Containers returns the sandboxes with attachments, including those whose ADD is in progress.
func (s *Server) Containers() (map[string]bool, error) {
	records, err := s.store.all()
	out := map[string]bool{}
	for _, r := range records {
		out[r.Call.ContainerID] = true
	}
	return out, err
}

// Each calls visit for every attachment for which match is true, whose ADD has succeeded and whose network namespace exists. It holds the lock of the sandbox,
// so that no request of it runs in the meantime. It does not wait for a running ADD. Before the server serves there are no attachments. All errors are joined.
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

// All is Each for every attachment. It waits for running ADDs.
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
		return nil //nolint:nilerr // the sandbox no longer exists; Sweep, DEL or GC handle that
	}
	return visit(ctx, r.Call)
}
