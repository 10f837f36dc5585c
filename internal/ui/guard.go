package ui

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// tokenParameter is the parameter with the token in the printed address.
const tokenParameter = "token"

// cookie returns the name of the session cookie. It contains the port, since all ports of a host share cookies.
func (s *Server) cookie() string {
	_, port, _ := strings.Cut(s.hosts[0], ":")
	return "cno-ui-" + port
}

// policy is the content security policy: pages load only from this server, and other pages cannot embed them in a frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The messages of refused requests.
const (
	refusedHost   = "the request is for another host: a page of another site may have made it"
	refusedOrigin = "the request comes from a page of another site"
	refusedToken  = "the token is wrong: open the address that cno ui printed last"
	refusedCookie = "this browser has not opened the address with the token yet: open the address that cno ui printed"
)

// guard refuses unauthenticated and cross-origin requests, and exchanges the token for a cookie.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		// This prevents DNS rebinding: a foreign name that resolves to 127.0.0.1 is the host of the request.
		if !slices.Contains(s.hosts, r.Host) {
			fail(w, http.StatusMisdirectedRequest, refusedHost)
			return
		}
		if !s.sameOrigin(r) {
			fail(w, http.StatusForbidden, refusedOrigin)
			return
		}
		if token := r.URL.Query().Get(tokenParameter); token != "" && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") {
			s.exchange(w, r, token)
			return
		}
		if c, err := r.Cookie(s.cookie()); err != nil || !equal(c.Value, s.session) {
			fail(w, http.StatusUnauthorized, refusedCookie)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin reports whether a request may come from a page of this server. A request that changes something must have an origin; one that
// reads may have none, such as that of an address that the user has opened.
func (s *Server) sameOrigin(r *http.Request) bool {
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" && (site != "none" || changes) {
		// A navigation from another page has no cookie, which is only sent with requests of the same site.
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return !changes
	}
	return len(origins) == 1 && origins[0] == "http://"+r.Host
}

// exchange sets the cookie for the token and redirects to the same address without it, so that the token is not in the browser's history.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, token string) {
	if !equal(token, s.token) {
		fail(w, http.StatusForbidden, refusedToken)
		return
	}
	//nolint:gosec // a cookie for loopback, which has no TLS
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	query := r.URL.Query()
	query.Del(tokenParameter)
	// The path must begin with a single slash: //host would be another host.
	target := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/\\"), RawQuery: query.Encode()}
	w.Header().Set("Location", target.RequestURI())
	w.WriteHeader(http.StatusSeeOther)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
