package ui

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
	"github.com/cluster-network-operator/cno/internal/ui/page"
	"github.com/cluster-network-operator/cno/internal/ui/web"
)

// served is a server of a network in memory, and more objects, like that of an archive.
func served(t *testing.T, more ...client.Object) *Server {
	t.Helper()
	scheme, err := objects.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	set := objects.NewSet(scheme)
	for _, o := range append(more, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"}}}) {
		if err := set.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(t.Context(), 0, Options{Source: page.Source{Objects: set, Namespace: "ons", Now: time.Now}, Name: "test", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.listener.Close() })
	return s
}

// call is one request. Empty fields are those of the browser of the user.
type call struct {
	method, path, host, body string
	headers                  map[string]string
	cookie                   *http.Cookie
}

func (s *Server) call(c call) *httptest.ResponseRecorder {
	if c.method == "" {
		c.method = http.MethodGet
	}
	if c.host == "" {
		c.host = s.hosts[0]
	}
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	r.Host = c.host
	for k, v := range c.headers {
		r.Header.Set(k, v)
	}
	if c.cookie != nil {
		r.AddCookie(c.cookie)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

func (s *Server) own() *http.Cookie { return &http.Cookie{Name: s.cookie(), Value: s.session} }

func TestOnlyTheUsersOwnRequestsAreAnswered(t *testing.T) {
	s := served(t)
	origin := "http://" + s.hosts[0]
	post := func(headers map[string]string) call {
		all := map[string]string{"Content-Type": "application/json", keyHeader: s.key}
		for k, v := range headers {
			all[k] = v
		}
		return call{method: http.MethodPost, path: "/api/v1/plan", body: `{}`, cookie: s.own(), headers: all}
	}
	const path = "/api/v1/overview"
	for _, row := range []struct {
		why     string
		call    call
		status  int
		message string
	}{
		{"the user's browser", call{path: path, cookie: s.own()}, 200, ""},
		{"its own page", call{path: path, cookie: s.own(), headers: map[string]string{"Origin": origin, "Sec-Fetch-Site": "same-origin"}}, 200, ""},
		{"an address that the user has opened", call{path: "/nodes", cookie: s.own(), headers: map[string]string{"Sec-Fetch-Site": "none"}}, 200, ""},
		{"the other name of loopback", call{path: path, host: s.hosts[1], cookie: s.own()}, 200, ""},
		{"no cookie", call{path: path}, 401, refusedCookie},
		{"no cookie, the page", call{path: "/"}, 401, refusedCookie},
		{"no cookie, the bundle", call{path: "/assets/app.js"}, 401, refusedCookie},
		{"a guessed cookie", call{path: path, cookie: &http.Cookie{Name: s.cookie(), Value: "guess"}}, 401, refusedCookie},
		{"an empty cookie", call{path: path, cookie: &http.Cookie{Name: s.cookie()}}, 401, refusedCookie},
		{"the token as cookie", call{path: path, cookie: &http.Cookie{Name: s.cookie(), Value: s.token}}, 401, refusedCookie},
		{"the cookie under another name", call{path: path, cookie: &http.Cookie{Name: "cno-ui", Value: s.session}}, 401, refusedCookie},
		{"the token for a document", call{path: path + "?token=" + s.token}, 401, refusedCookie},
		{"a wrong token", call{path: "/?token=guess"}, 403, refusedToken},
		{"a wrong token beside the cookie", call{path: "/?token=guess", cookie: s.own()}, 403, refusedToken},
		{"the beginning of the token", call{path: "/?token=" + s.token[:10]}, 403, refusedToken},
		{"a wrong token in a link of another site", call{path: "/?token=guess", headers: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403, refusedToken},
		{"a name that was rebound to loopback", call{path: path, host: "evil.example:" + strings.Split(s.hosts[0], ":")[1], cookie: s.own()}, 421, refusedHost},
		{"a name that was rebound, with the token", call{path: "/?token=" + s.token, host: "evil.example"}, 421, refusedHost},
		{"another port", call{path: path, host: "127.0.0.1:1", cookie: s.own()}, 421, refusedHost},
		{"no port", call{path: path, host: "127.0.0.1", cookie: s.own()}, 421, refusedHost},
		{"a host that only begins right", call{path: path, host: s.hosts[0] + ".evil.example", cookie: s.own()}, 421, refusedHost},
		{"another site reads", call{path: path, cookie: s.own(), headers: map[string]string{"Origin": "https://evil.example"}}, 403, refusedOrigin},
		{"a file reads", call{path: path, cookie: s.own(), headers: map[string]string{"Origin": "null"}}, 403, refusedOrigin},
		{"another port of loopback reads", call{path: path, cookie: s.own(), headers: map[string]string{"Origin": "http://127.0.0.1:1"}}, 403, refusedOrigin},
		{"a site shows it as a picture", call{path: path, cookie: s.own(), headers: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403, refusedOrigin},
		{"another port shows it as a picture", call{path: path, cookie: s.own(), headers: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403, refusedOrigin},
		{"the other name of loopback as origin", call{path: path, cookie: s.own(), headers: map[string]string{"Origin": "http://" + s.hosts[1]}}, 403, refusedOrigin},
		{"an action of its own page", post(map[string]string{"Origin": origin}), 409, "there is no cluster"},
		{"an action with the cookie alone, which servers on other ports receive", post(map[string]string{"Origin": origin, keyHeader: ""}), 401, refusedKey},
		{"an action with a guessed key", post(map[string]string{"Origin": origin, keyHeader: "guess"}), 401, refusedKey},
		{"an action with the cookie as key", post(map[string]string{"Origin": origin, keyHeader: s.session}), 401, refusedKey},
		{"an action without an origin", post(nil), 403, refusedOrigin},
		{"an action of another site", post(map[string]string{"Origin": "https://evil.example"}), 403, refusedOrigin},
		{"an action that no page made", post(map[string]string{"Origin": origin, "Sec-Fetch-Site": "none"}), 403, refusedOrigin},
		{"an action of a frame without origin", post(map[string]string{"Origin": "null"}), 403, refusedOrigin},
	} {
		w := s.call(row.call)
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.message) {
			t.Errorf("%s: %d, want %d: %s", row.why, w.Code, row.status, w.Body)
		}
		if w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", row.why, w.Header())
		}
		if strings.Contains(w.Body.String(), s.session) || strings.Contains(w.Body.String(), s.token) || strings.Contains(w.Body.String(), s.key) {
			t.Errorf("%s: the answer has a secret", row.why)
		}
	}
}

func TestTokenIsExchangedForASameSiteCookieAndAKey(t *testing.T) {
	s := served(t)
	for path, want := range map[string]string{"/": "/", "/nodes/a?x=1&": "/nodes/a?x=1", "//evil.example/": "/evil.example/", `/\evil.example`: "/evil.example", `/"><script>`: "/%22%3E%3Cscript%3E"} {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = ""
		}
		// The file that leads a browser here is another site.
		w := s.call(call{path: strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E").Replace(path) + separator + "token=" + s.token, headers: map[string]string{"Sec-Fetch-Site": "cross-site"}})
		if w.Code != http.StatusOK || w.Body.String() != Leading(want+"#key="+s.key) {
			t.Errorf("%s: %d, want a page that leads to %s: %s", path, w.Code, want, w.Body)
		}
		cookies := w.Result().Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Value != s.session || cookies[0].Domain != "" {
			t.Errorf("%s: cookies %v", path, cookies)
		}
	}
	if other := served(t); other.token == s.token || other.session == s.session || other.key == s.key || s.token == s.session || s.key == s.session || len(s.token) < 20 {
		t.Error("tokens can be guessed")
	}
}

// The token of the browser that cno ui opens works once: it is in a file.
func TestATokenThatWorksOnce(t *testing.T) {
	s := served(t)
	address, err := url.Parse(s.URLOnce("/nodes"))
	if err != nil || strings.Contains(address.String(), s.token) {
		t.Fatalf("%v: %s", err, address)
	}
	for i, status := range []int{http.StatusOK, http.StatusForbidden} {
		if w := s.call(call{path: address.RequestURI()}); w.Code != status {
			t.Errorf("use %d: %d, want %d: %s", i+1, w.Code, status, w.Body)
		}
	}
}

// A browser that opens an address shows the answer as it is; scripts read a document.
func TestRefusalsAreTextInABrowser(t *testing.T) {
	s := served(t)
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": refusedToken + "\n",
		"*/*": `{"error":"` + refusedToken + `"}` + "\n",
	} {
		w := s.call(call{path: "/?token=guess", headers: map[string]string{"Accept": accept}})
		if w.Code != http.StatusForbidden || w.Body.String() != want {
			t.Errorf("Accept %s: %d: %s, want %s", accept, w.Code, w.Body, want)
		}
	}
}

func TestEveryPageHasADocumentAtAStablePath(t *testing.T) {
	s := served(t)
	for _, name := range Pages() {
		w := s.call(call{path: "/api/v1/" + name, cookie: s.own()})
		var doc map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &doc); w.Code != 200 || err != nil || len(doc) == 0 {
			t.Errorf("%s: %d, %v: %s", name, w.Code, err, w.Body)
		}
	}
	for path, status := range map[string]int{"nothing": 404, "nodes/gone": 404, "paths/x": 404, "way?from=a/b&to=c/d&port=0": 400, "way?port=x": 400, "way?from=a/b&to=c/d&port=80": 404, "pods?search=x": 200} {
		if w := s.call(call{path: "/api/v1/" + path, cookie: s.own()}); w.Code != status || status != 200 && !strings.Contains(w.Body.String(), `{"error":"`) {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, status, w.Body)
		}
	}
	page := s.call(call{path: "/", cookie: s.own()}).Body.String()
	for _, pattern := range web.Paths() {
		path := strings.NewReplacer("{$}", "", "{name}", "worker-0").Replace(pattern)
		if w := s.call(call{path: path, cookie: s.own()}); w.Code != 200 || w.Body.String() != page {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := s.call(call{path: "/favicon.ico", cookie: s.own()}); w.Code != 302 || s.call(call{path: w.Header().Get("Location"), cookie: s.own()}).Code != 200 {
		t.Errorf("the icon that browsers ask for: %d", w.Code)
	}
	if w := s.call(call{path: "/assets/", cookie: s.own()}); w.Code != 404 {
		t.Errorf("the bundle is listed: %d", w.Code)
	}
}

// Everything that the pages load, they load from here: an air gap has nothing else, and the policy lets nothing else in.
func TestPageLoadsFilesOfTheBundleOnly(t *testing.T) {
	s := served(t)
	page := s.call(call{path: "/", cookie: s.own()}).Body.String()
	var loaded []string
	for _, attribute := range []string{`src="`, `href="`} {
		for rest := page; ; {
			_, after, found := strings.Cut(rest, attribute)
			if !found {
				break
			}
			file, end, _ := strings.Cut(after, `"`)
			loaded, rest = append(loaded, file), end
		}
	}
	if !slices.Contains(loaded, "/assets/app.js") || !slices.Contains(loaded, "/assets/style.css") {
		t.Errorf("the page loads %q", loaded)
	}
	for _, file := range loaded {
		if w := s.call(call{path: file, cookie: s.own()}); w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d", file, w.Code)
		}
	}
	if strings.Contains(page, "<style") || strings.Contains(page, "onclick=") || strings.Count(page, "<script") != 1 {
		t.Errorf("the page has something inline:\n%s", page)
	}
}

func TestBodiesAreLimited(t *testing.T) {
	s := served(t)
	s.options.Actions = unreachable{}
	headers := map[string]string{"Origin": "http://" + s.hosts[0], "Content-Type": "application/json", keyHeader: s.key}
	for _, row := range []struct {
		why, body, kind string
		status          int
	}{
		{"too long", `{"yaml":"` + strings.Repeat("a", maxBody) + `"}`, "application/json", 413},
		{"no JSON", "yaml", "application/json", 400},
		{"a field that does not exist", `{"file":"/etc/passwd"}`, "application/json", 400},
		{"a type that a form of another page can send", `{"yaml":""}`, "text/plain", 415},
		{"no type", `{"yaml":""}`, "", 415},
	} {
		headers["Content-Type"] = row.kind
		if w := s.call(call{method: http.MethodPost, path: "/api/v1/plan", body: row.body, cookie: s.own(), headers: headers}); w.Code != row.status {
			t.Errorf("%s: %d, want %d: %.100s", row.why, w.Code, row.status, w.Body)
		}
	}
}

// A plan has the generation that it is for, and apply gets that of the plan which the user has seen.
func TestApplyGetsTheGenerationOfThePlan(t *testing.T) {
	s := served(t)
	s.options.Actions = versioned{generation: 4}
	for _, row := range []struct {
		why, path, body string
		status          int
		answer          string
	}{
		{"a plan", "plan", `{"yaml":"a"}`, 200, `"generation":4`},
		{"the plan is still that of the object", "apply", `{"yaml":"a","generation":4}`, 200, `"generation":5`},
		{"the object was changed after the plan", "apply", `{"yaml":"a","generation":3}`, 409, ErrRefused.Error()},
		{"no plan was made", "apply", `{"yaml":"a"}`, 409, ErrRefused.Error()},
	} {
		headers := map[string]string{"Origin": "http://" + s.hosts[0], "Content-Type": "application/json", keyHeader: s.key}
		w := s.call(call{method: http.MethodPost, path: "/api/v1/" + row.path, body: row.body, cookie: s.own(), headers: headers})
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.answer) {
			t.Errorf("%s: %d, want %d with %s: %s", row.why, w.Code, row.status, row.answer, w.Body)
		}
	}
}

// versioned plans and changes an object of a generation.
type versioned struct {
	Actions
	generation int64
}

func (v versioned) Plan(context.Context, Change) (preview.Result, int64, error) {
	return preview.Result{}, v.generation, nil
}

func (v versioned) Apply(_ context.Context, c Change) (preview.Result, int64, error) {
	if c.Generation != v.generation {
		return preview.Result{}, 0, ErrRefused
	}
	return preview.Result{}, v.generation + 1, nil
}

// unreachable has actions that are never reached.
type unreachable struct{ Actions }

func TestAStreamSendsTheDocumentAndEndsWithTheServer(t *testing.T) {
	s := served(t)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	s.hosts = []string{strings.TrimPrefix(server.URL, "http://")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events?page=overview", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.own())
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	begin := make([]byte, 400)
	n, err := io.ReadAtLeast(answer.Body, begin, 40)
	if err != nil || answer.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(string(begin[:n]), "event: document\ndata: {\"sentence\":") {
		t.Errorf("%v: %v\n%s", err, answer.Header, begin[:n])
	}
	for range cap(s.streams) - 1 {
		s.streams <- struct{}{}
	}
	if w := s.call(call{path: "/api/v1/events?page=overview", cookie: s.own(), host: s.hosts[0]}); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one stream too many: %d", w.Code)
	}
}

// An operator that hangs changes no object: its lease expires with the time alone.
func TestAStreamReportsAnOperatorThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewed, one := metav1.NowMicro(), int32(1)
		s := served(t,
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ons", Name: "network-operator"}, Spec: appsv1.DeploymentSpec{Replicas: &one}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1, AvailableReplicas: 1}},
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ons", Name: status.LeaseName}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events?page=overview", nil)
		w := httptest.NewRecorder()
		go s.serveEvents(w, r)
		const message = "was last renewed at"
		time.Sleep(status.LeaseStale - time.Second)
		synctest.Wait()
		if text := w.Body.String(); strings.Count(text, "event:") != 1 || strings.Contains(text, message) || !strings.Contains(text, "\n\n:\n\n") {
			t.Errorf("while the lease is valid, the stream has\n%s", text)
		}
		time.Sleep(2 * alive)
		synctest.Wait()
		if text := w.Body.String(); strings.Count(text, "event:") != 2 || !strings.Contains(text, message) {
			t.Errorf("after the lease has expired, the stream has\n%s", text)
		}
	})
}
