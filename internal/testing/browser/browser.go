// Package browser drives a headless Chromium in tests, by the DevTools protocol over the pipe that Chromium offers: without a port, and
// without a library of a thousand generated types for the ten messages that tests need.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// answers is how long Chromium may take for one message, on a machine that is busy with other tests.
const answers = time.Minute

// Page is one tab.
type Page struct {
	tb      testing.TB // that of the innermost In
	out     *os.File
	session string

	mu       sync.Mutex
	last     int
	waiting  map[int]chan message
	problems []string
	requests []string
	loads    int
}

// message is one of the protocol, in either direction.
type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	event json.RawMessage
}

// UnmarshalJSON keeps the parameters of events as they are.
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	var in struct {
		plain
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(data, &in)
	*m = message(in.plain)
	m.event = in.Params
	return err
}

// Start starts a browser with an empty page, which ends with the test. The test fails if Chromium is not installed. No name is resolved
// but that of loopback: a page that needs anything from elsewhere fails.
func Start(tb testing.TB) *Page {
	tb.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		tb.Fatalf("chromium is not installed: make deps installs it on Debian, as root; otherwise: apt-get install --no-install-recommends chromium (%v)", err)
	}
	childIn, out, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	in, others, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	home := tb.TempDir()
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(home, "profile"), "--disable-gpu", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--force-color-profile=srgb", "--font-render-hinting=none", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank")
	cmd.Env = append(cmd.Environ(), "HOME="+home)
	cmd.ExtraFiles = []*os.File{childIn, others}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start chromium: %v", err)
	}
	_, _ = childIn.Close(), others.Close()
	p := &Page{tb: tb, out: out, waiting: map[int]chan message{}}
	go p.read(in)
	tb.Cleanup(func() {
		// It ends when its pipe does, but not with processes that hang.
		_ = out.Close()
		timer := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		_ = in.Close()
	})
	p.attach()
	return p
}

// In makes tb the test that fails if something on the page does, until it ends: a subtest of the one that has started the browser.
func (p *Page) In(tb testing.TB) {
	before := p.tb
	p.tb = tb
	tb.Cleanup(func() { p.tb = before })
}

// attach opens the tab.
func (p *Page) attach() {
	p.tb.Helper()
	var target struct {
		TargetID string `json:"targetId"`
	}
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		p.call(domain+".enable", map[string]any{}, nil)
	}
}

// read takes messages until the pipe ends.
func (p *Page) read(in *os.File) {
	for r := bufio.NewReaderSize(in, 1<<20); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			continue
		}
		p.mu.Lock()
		if m.ID != 0 {
			if answer, ok := p.waiting[m.ID]; ok {
				delete(p.waiting, m.ID)
				answer <- m
			}
		} else {
			p.note(m)
		}
		p.mu.Unlock()
	}
}

// note records events.
func (p *Page) note(m message) {
	var e struct {
		Request          struct{ URL string }
		ExceptionDetails json.RawMessage
		Entry            struct{ Level, Text, URL string }
	}
	if json.Unmarshal(m.event, &e) != nil {
		return
	}
	switch m.Method {
	case "Page.loadEventFired":
		p.loads++
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, string(e.ExceptionDetails))
	case "Log.entryAdded":
		if e.Entry.Level == "error" {
			p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// call sends a message and waits for the answer.
func (p *Page) call(method string, params, result any) {
	p.tb.Helper()
	if err := p.try(method, params, result); err != nil {
		p.tb.Fatalf("chromium: %v", err)
	}
}

func (p *Page) try(method string, params, result any) error {
	p.mu.Lock()
	p.last++
	id, answer := p.last, make(chan message, 1)
	p.waiting[id] = answer
	p.mu.Unlock()
	text, err := json.Marshal(message{ID: id, Method: method, SessionID: p.session, Params: params})
	if err != nil {
		return err
	}
	if _, err := p.out.Write(append(text, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-time.After(answers):
		return fmt.Errorf("%s: no answer within %s", method, answers)
	}
}

// Open goes to an address, and waits until it is loaded.
func (p *Page) Open(address string) {
	p.tb.Helper()
	p.mu.Lock()
	before := p.loads
	p.mu.Unlock()
	var result struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": address}, &result)
	if result.ErrorText != "" {
		p.tb.Fatalf("open %s: %s", address, result.ErrorText)
	}
	eventually.Holds(p.tb, "load "+address, func() (string, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return "loading", p.loads > before
	})
}

// Eval evaluates an expression of JavaScript on the page, waits for a promise, and decodes the value; into may be nil.
func (p *Page) Eval(expression string, into any) error {
	var result struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err := p.try("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &result)
	if err != nil {
		return err
	}
	if e := result.ExceptionDetails; e != nil {
		return errors.New(e.Text + " " + e.Exception.Description)
	}
	if into == nil || len(result.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(result.Result.Value, into)
}

// Wait waits until an expression is true on the page. The test fails with the text of the page if it does not become so.
func (p *Page) Wait(what, expression string) {
	p.tb.Helper()
	eventually.Holds(p.tb, what, func() (string, bool) {
		var ok bool
		if err := p.Eval("Boolean("+expression+")", &ok); err != nil {
			return err.Error(), false
		}
		if ok {
			return "", true
		}
		return p.Text(), false
	})
}

// Text is what a person reads on the page.
func (p *Page) Text() string {
	var text string
	if err := p.Eval("document.body.innerText", &text); err != nil {
		return err.Error()
	}
	return text
}

// Do evaluates an expression for its effect. The test fails if it throws.
func (p *Page) Do(expression string) {
	p.tb.Helper()
	if err := p.Eval(expression, nil); err != nil {
		p.tb.Fatalf("%s: %v", expression, err)
	}
}

// Look sets the size of the window in pixels, and whether the user prefers dark colours.
func (p *Page) Look(width, height int, dark bool) {
	p.tb.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// Press presses a key: Tab, Enter or Space.
func (p *Page) Press(key string) {
	p.tb.Helper()
	codes := map[string]struct {
		code int
		text string
	}{"Tab": {9, ""}, "Enter": {13, "\r"}, "Space": {32, " "}}
	k := codes[key]
	for _, event := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": event, "key": strings.Replace(key, "Space", " ", 1), "code": key, "windowsVirtualKeyCode": k.code}
		if event == "keyDown" && k.text != "" {
			params["text"] = k.text
		}
		p.call("Input.dispatchKeyEvent", params, nil)
	}
}

// Screenshot is the window as WebP.
func (p *Page) Screenshot() []byte {
	p.tb.Helper()
	var result struct {
		Data string `json:"data"`
	}
	p.call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 80}, &result)
	data, err := base64.StdEncoding.DecodeString(result.Data)
	if err != nil {
		p.tb.Fatal(err)
	}
	return data
}

// Problems are the exceptions and errors of all pages so far: also what the Content-Security-Policy refused.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.problems...)
}

// Requests are the addresses of all requests so far.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}
