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
	// allowedFor and refusedFor are how long the result for a token is cached. Changed permissions become effective after that
	// time.
	allowedFor = time.Minute
	refusedFor = 10 * time.Second
	// reviewTimeout is the timeout of reviews by the API server. It is shorter than that of a scrape.
	reviewTimeout = 5 * time.Second
	// mostTokens is the maximum number of cached results.
	mostTokens = 128
	// reviewsPerSecond and reviewsBurst limit the load that requests with unknown tokens cause on the API server.
	reviewsPerSecond, reviewsBurst = 5, 20
)

// Readers authorizes readers of metrics. It refuses requests without a token without a review. While the API server is
// unreachable, it allows only requests with a cached result. It is safe for concurrent use.
type Readers struct {
	tokens authenticationclient.TokenReviewsGetter
	access authorizationclient.SubjectAccessReviewsGetter
	now    func() time.Time
	log    *slog.Logger
	limit  flowcontrol.RateLimiter

	mu    sync.Mutex
	cache map[request]result
}

// request is a path that the owner of a token requests.
type request struct {
	token [sha256.Size]byte
	path  string
}

// result is a cached HTTP status with its expiry.
type result struct {
	status int
	until  time.Time
}

// New returns Readers that create TokenReviews and SubjectAccessReviews with client, which needs the permission for both.
func New(config *rest.Config, client *http.Client, now func() time.Time, log *slog.Logger) (*Readers, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create client for tokens: %w", err)
	}
	access, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("create client for permissions: %w", err)
	}
	return &Readers{tokens: tokens, access: access, now: now, log: log, cache: map[request]result{},
		limit: flowcontrol.NewTokenBucketRateLimiter(reviewsPerSecond, reviewsBurst)}, nil
}

// Only wraps a handler and serves only authorized requests. Others get 401 or 403, 429 above the rate limit of reviews, and 503
// if the API server is unreachable.
func (r *Readers) Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		status := r.authorize(q)
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

// authorize returns the HTTP status for a request: 200 if it may be served.
func (r *Readers) authorize(q *http.Request) int {
	if q.Method != http.MethodGet {
		return http.StatusMethodNotAllowed
	}
	scheme, token, _ := strings.Cut(q.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") {
		return http.StatusUnauthorized
	}
	key, now := request{sha256.Sum256([]byte(token)), q.URL.Path}, r.now()
	r.mu.Lock()
	cached, found := r.cache[key]
	r.mu.Unlock()
	if found && now.Before(cached.until) {
		return cached.status
	}
	// Requests with unknown tokens must not block those that were authorized before.
	if cached.status != http.StatusOK && !r.limit.TryAccept() {
		return http.StatusTooManyRequests
	}
	ctx, cancel := context.WithTimeout(q.Context(), reviewTimeout)
	defer cancel()
	status, err := r.review(ctx, token, key.path)
	if err != nil {
		r.log.Warn("cannot authorize a request for metrics", "error", err)
		return http.StatusServiceUnavailable
	}
	lifetime := refusedFor
	if status == http.StatusOK {
		lifetime = allowedFor
	}
	r.remember(key, result{status, now.Add(lifetime)})
	return status
}

// review reviews a token and the permission of its user to get a path.
func (r *Readers) review(ctx context.Context, token, path string) (int, error) {
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
	access, err := r.access.SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
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

// remember caches a result. If the cache is full, it evicts refusals first.
func (r *Readers) remember(key request, res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cache) >= mostTokens {
		now := r.now()
		for k, old := range r.cache {
			if old.status != http.StatusOK || now.Sub(old.until) > allowedFor {
				delete(r.cache, k)
			}
		}
		if len(r.cache) >= mostTokens {
			clear(r.cache)
		}
	}
	r.cache[key] = res
}
