package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/cluster-network-operator/cno/internal/cli/connectivity"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// ErrRefused is wrapped by the error of an action that is refused, since its plan does not apply.
var ErrRefused = errors.New("the change is not made")

// errNoCluster is the error of an action on an archive or a file.
var errNoCluster = fmt.Errorf("%w: there is no cluster, only an archive or a file", ErrRefused)

// actionTimeout is the timeout of an action: that of a connectivity test with its clean-up.
const actionTimeout = 3 * time.Minute

// Actions are the actions of pages on a cluster, which use the code of the commands of the same names.
type Actions interface {
	// Permissions reports whether the user may change the network, and create what a connectivity test needs.
	Permissions(ctx context.Context) (change, test bool, err error)
	// Plan previews a configuration, and returns the generation of the object that it is planned for; 0 if that does not exist.
	Plan(ctx context.Context, c Change) (preview.Result, int64, error)
	// Apply applies a configuration if its plan applies, and returns the plan and the new generation; 0 if it was not applied. The error
	// wraps ErrRefused if the object no longer has the generation of the change.
	Apply(ctx context.Context, c Change) (preview.Result, int64, error)
	// Rollback rolls back to a revision, or with dryRun only plans that. It also returns the number of the revision.
	Rollback(ctx context.Context, revision, acknowledge string, dryRun bool) (preview.Result, int, int64, error)
	// Test runs connectivity tests on nodes.
	Test(ctx context.Context, nodes []string) (connectivity.Report, error)
}

// Planned is the response to plan, apply and rollback.
type Planned struct {
	preview.Result
	// Applied is true if the change was made.
	Applied bool `json:"applied"`
	// Generation is that of the changed object after the change; in the response to plan, that of the object that the plan is for.
	Generation int64 `json:"generation,omitempty"`
	// Revision is the target of a rollback.
	Revision int `json:"revision,omitempty"`
	// Applies is true if the plan can be applied without further action of the user.
	Applies bool `json:"applies"`
}

// act returns a handler of an action on the cluster: a handler of post that fails if there is none.
func (s *Server) act(f func(context.Context, *json.Decoder) (any, error)) http.HandlerFunc {
	return s.post(func(ctx context.Context, body *json.Decoder) (any, error) {
		if s.options.Actions == nil {
			return nil, errNoCluster
		}
		return f(ctx, body)
	})
}

// post returns a handler that calls a function with the body of a request and writes its result.
func (s *Server) post(f func(context.Context, *json.Decoder) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !equal(r.Header.Get(keyHeader), s.key) {
			fail(w, http.StatusUnauthorized, refusedKey)
			return
		}
		// No form of another page can send this type.
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			fail(w, http.StatusUnsupportedMediaType, "the body must be application/json")
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(actionTimeout))
		ctx, cancel := context.WithTimeout(r.Context(), actionTimeout)
		defer cancel()
		body := json.NewDecoder(r.Body)
		body.DisallowUnknownFields()
		doc, err := f(ctx, body)
		if err != nil {
			failed(w, err)
			return
		}
		answer(w, doc)
	}
}

// decode reads the body of a request.
func decode(body *json.Decoder, into any) error {
	if err := body.Decode(into); err != nil {
		return fmt.Errorf("%w: read the body: %w", page.ErrQuestion, err)
	}
	return nil
}

// Change is a configuration to plan or to apply: the body of both.
type Change struct {
	YAML        string `json:"yaml"`
	Acknowledge string `json:"acknowledge"`
	Force       bool   `json:"force"`
	// Generation is that of the plan which the user has seen. Only apply uses it.
	Generation int64 `json:"generation"`
}

func (s *Server) plan(ctx context.Context, body *json.Decoder) (any, error) {
	var c Change
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	plan, generation, err := s.options.Actions.Plan(ctx, c)
	return Planned{Result: plan, Generation: generation, Applies: plan.Applies()}, err
}

func (s *Server) apply(ctx context.Context, body *json.Decoder) (any, error) {
	var c Change
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	plan, generation, err := s.options.Actions.Apply(ctx, c)
	return Planned{Result: plan, Applied: generation > 0, Generation: generation, Applies: plan.Applies()}, err
}

func (s *Server) rollback(ctx context.Context, body *json.Decoder) (any, error) {
	var c struct {
		Revision    string `json:"revision"`
		Acknowledge string `json:"acknowledge"`
		DryRun      bool   `json:"dryRun"`
	}
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	plan, revision, generation, err := s.options.Actions.Rollback(ctx, c.Revision, c.Acknowledge, c.DryRun)
	return Planned{Result: plan, Revision: revision, Applied: generation > 0, Generation: generation, Applies: plan.Applies()}, err
}

func (s *Server) connectivity(ctx context.Context, body *json.Decoder) (any, error) {
	var c struct {
		Nodes []string `json:"nodes"`
	}
	if err := decode(body, &c); err != nil {
		return nil, err
	}
	return s.options.Actions.Test(ctx, c.Nodes)
}

// draw draws the network of hosts of a text, which may be different from what the cluster has.
func (s *Server) draw(_ context.Context, body *json.Decoder) (any, error) {
	var draft page.Draft
	if err := decode(body, &draft); err != nil {
		return nil, err
	}
	return page.Draw(draft), nil
}
