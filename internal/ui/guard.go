package ui

import (
	"crypto/subtle"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// tokenParameter is the parameter with the token in the printed address.
const tokenParameter = "token"

// keyHeader is the header of an action with the key of the session.
const keyHeader = "Cno-Ui-Key"

// keyFragment begins the fragment of an address that has the key of the session.
const keyFragment = "#key="

// cookie returns the name of the session cookie. It contains the port, since all ports of a host share cookies: a browser sends the cookie to
// every server of 127.0.0.1 that the user opens, also to that of another user. For this reason an action needs the key as well, which
// scripts of this port only can read.
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
	refusedKey    = "this browser has no key for changes and tests: open the address that cno ui printed, then try again"
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
			refuse(w, r, http.StatusMisdirectedRequest, refusedHost)
			return
		}
		// The token may come from anywhere: from the terminal, or from the file that leads the browser here, which is another site.
		if token := r.URL.Query().Get(tokenParameter); token != "" && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") {
			s.exchange(w, r, token)
			return
		}
		if !s.sameOrigin(r) {
			refuse(w, r, http.StatusForbidden, refusedOrigin)
			return
		}
		if c, err := r.Cookie(s.cookie()); err != nil || !equal(c.Value, s.session) {
			refuse(w, r, http.StatusUnauthorized, refusedCookie)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse writes why a request is refused: as text to a browser that opens an address, which would show a document as it is.
func refuse(w http.ResponseWriter, r *http.Request, status int, sentence string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		fail(w, status, sentence)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, sentence) // an error means that the browser has closed the connection
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

// exchange sets the cookie for the token, and answers with a page that leads to the same address without the token and with the key. A
// redirect would not do: a browser sends no cookie of SameSite=Strict along it if the file of another site began it.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, token string) {
	if _, once := s.tickets.LoadAndDelete(token); !once && !equal(token, s.token) {
		refuse(w, r, http.StatusForbidden, refusedToken)
		return
	}
	//nolint:gosec // a cookie for loopback, which has no TLS
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	query := r.URL.Query()
	query.Del(tokenParameter)
	// The path must begin with a single slash: //host would be another host.
	target := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/\\"), RawQuery: query.Encode()}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(Leading(target.RequestURI() + keyFragment + s.key))) // an error means that the browser has closed the connection
}

// Leading returns a page that leads a browser to an address.
func Leading(address string) string {
	return fmt.Sprintf(`<!doctype html><html lang="en"><meta charset="utf-8"><title>cno ui</title><meta http-equiv="refresh" content="0;url=%s">`+"\n", html.EscapeString(address))
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
