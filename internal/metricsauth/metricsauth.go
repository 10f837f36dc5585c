// Package metricsauth authorizes requests to /metrics with TokenReview and SubjectAccessReview. It needs no
// pod network and no sidecar: it uses the existing client of the API server.
package metricsauth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// allowedFor and refusedFor are how long an answer on a token is good for. Rights that are removed are gone, and rights
	// that are given are there, after that time.
	allowedFor = time.Minute
	refusedFor = 10 * time.Second
	// askTimeout is how long the API server may take to answer: less than a scrape may.
	askTimeout = 5 * time.Second
	// mostTokens is how many tokens are remembered: readers of metrics are few.
	mostTokens = 128
	// asksPerSecond and asksAtOnce limit what strangers with ever new tokens cost the API server.
	asksPerSecond, asksAtOnce = 5, 20
)

// Readers decides who may read. Who shows no token is turned away without a question; while the API server does not answer,
// no one is let in who has not been lately. It may be used by many goroutines.
type Readers struct {
	tokens authenticationclient.TokenReviewsGetter
	rights authorizationclient.SubjectAccessReviewsGetter
	now    func() time.Time
	log    *slog.Logger
	limit  flowcontrol.RateLimiter

	mu    sync.Mutex
	known map[reading]verdict
}

// reading is a path that the owner of a token wants to read.
type reading struct {
	token [sha256.Size]byte
	path  string
}

// verdict is an HTTP status, and until when it is good.
type verdict struct {
	status int
	until  time.Time
}

// New returns the Readers of an API server, whom client asks with the right to create TokenReviews and SubjectAccessReviews.
func New(config *rest.Config, client *http.Client, now func() time.Time, log *slog.Logger) (*Readers, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create client for tokens: %w", err)
	}
	rights, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create client for permissions: %w", err)
	}
	return &Readers{tokens: tokens, rights: rights, now: now, log: log, known: map[reading]verdict{},
		limit: flowcontrol.NewTokenBucketRateLimiter(asksPerSecond, asksAtOnce)}, nil
}

// Only serves those who may read; others get 401 or 403, 429 while strangers are many, and 503 while no one knows.
func (r *Readers) Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		status := r.judge(q)
		if status == http.StatusOK {
			next.ServeHTTP(w, q)
			return
		}
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, http.StatusText(status), status)
	})
}

// judge returns the HTTP status for a request: 200 if it may be served.
func (r *Readers) judge(q *http.Request) int {
	if q.Method != http.MethodGet {
		return http.StatusMethodNotAllowed
	}
	scheme, token, _ := strings.Cut(q.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return http.StatusUnauthorized
	}
	key, now := reading{sha256.Sum256([]byte(token)), q.URL.Path}, r.now()
	r.mu.Lock()
	v, known := r.known[key]
	r.mu.Unlock()
	if known && now.Before(v.until) {
		return v.status
	}
	// Strangers must not keep those out who have been let in before.
	if v.status != http.StatusOK && !r.limit.TryAccept() {
		return http.StatusTooManyRequests
	}
	ctx, cancel := context.WithTimeout(q.Context(), askTimeout)
	defer cancel()
	status, err := r.ask(ctx, token, key.path)
	if err != nil {
		r.log.Warn("cannot ask who may read metrics", "error", err)
		return http.StatusServiceUnavailable
	}
	good := refusedFor
	if status == http.StatusOK {
		good = allowedFor
	}
	r.remember(key, verdict{status, now.Add(good)})
	return status
}

// ask asks the API server whose a token is, and whether they may get a path.
func (r *Readers) ask(ctx context.Context, token, path string) (int, error) {
	review, err := r.tokens.TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review token: %w", err)
	}
	if !review.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	access, err := r.rights.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "get"},
		}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("review access: %w", err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// remember keeps an answer, and forgets others when there are too many: refusals first.
func (r *Readers) remember(key reading, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostTokens {
		now := r.now()
		for k, old := range r.known {
			if old.status != http.StatusOK || now.Sub(old.until) > allowedFor {
				delete(r.known, k)
			}
		}
		if len(r.known) >= mostTokens {
			clear(r.known)
		}
	}
	r.known[key] = v
}
