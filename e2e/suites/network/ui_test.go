package network

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/testing/browser"
)

var screenshots = flag.Bool("screenshots", false, "write the screenshots of docs/ui.md that are of a lab")

// pages is a browser with the pages of cno ui.
type pages struct {
	*browser.Page
	address string
}

// openPages runs cno ui until the test ends, and opens its first page.
func openPages(t *testing.T) pages {
	t.Helper()
	program := filepath.Join(lab.Root, "_output", runtime.GOOS, runtime.GOARCH, "cno")
	cmd := exec.Command(program, "ui", "--no-open", "--kubeconfig", lab.Kubeconfig())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("cno ui ends with %v", err)
		}
	})
	printed, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, ok := strings.Cut(strings.TrimSpace(printed), "/?token=")
	if !ok {
		t.Fatalf("cno ui prints %q", printed)
	}
	p := pages{browser.Start(t), address}
	p.Look(1280, 900, false)
	p.Open(strings.TrimSpace(printed))
	p.Wait("the first page, which keeps the key of the session", `document.getElementById("body")?.hasAttribute("data-ready")`)
	return p
}

// visit opens a page, and marks it: a page that was loaded again does not have the mark.
func (p pages) visit(path, ready string) {
	p.Open(p.address + path)
	p.Wait(path, ready)
	p.Do("window.opened = true")
}

// shows waits until the page that was visited shows something, without having been loaded again.
func (p pages) shows(t *testing.T, limit time.Duration, what, expression string) {
	t.Helper()
	kit.Eventually(t, limit, what, func(context.Context) error {
		var ok bool
		if err := p.Eval("Boolean(window.opened && ("+expression+"))", &ok); err != nil {
			return err
		}
		if !ok {
			return errors.New("the page shows\n" + p.Text())
		}
		return nil
	})
}

func (p pages) shoot(t *testing.T, name string) {
	t.Helper()
	if !*screenshots {
		return
	}
	if err := os.WriteFile(filepath.Join(lab.Root, "docs", "ui", name+".webp"), p.Screenshot(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPagesAreLive drives the pages in a browser: what happens in the cluster is seen on the page that is open.
func TestPagesAreLive(t *testing.T) {
	kit.Full(t)
	p := openPages(t)
	healthy := fmt.Sprintf(`document.body.innerText.includes("The %s network is healthy.")`, network.Type)
	p.visit("/", healthy)
	p.shoot(t, "lab-overview-1280")
	t.Run("policy", func(t *testing.T) { p.In(t); policyIsSeen(t, p) })
	t.Run("rollout", func(t *testing.T) { p.In(t); rolloutIsSeen(t, p, healthy) })
	t.Run("test", func(t *testing.T) { p.In(t); connectivityIsTested(t, p) })
	t.Run("unplugged", func(t *testing.T) { p.In(t); unpluggedNodeIsSeen(t, p) })
	for _, problem := range p.Problems() {
		t.Errorf("the browser reports: %s", problem)
	}
}

func policyIsSeen(t *testing.T, p pages) {
	ns := lab.Namespace(t)
	for _, node := range []string{"worker-0", "worker-1"} {
		if _, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "server-"+node, node, map[string]string{"on": node})); err != nil {
			t.Fatal(err)
		}
	}
	p.visit(fmt.Sprintf("/pods?from=%[1]s%%2Fserver-worker-0&to=%[1]s%%2Fserver-worker-1&port=8080&protocol=TCP", ns),
		`document.body.innerText.includes("No object of the cluster blocks the packet.")`)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "quarantine"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"on": "worker-1"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}}
	if err := lab.Client.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	if unenforced := declared(t).Unenforced; unenforced != "" {
		p.shows(t, time.Minute, "the page reports that the policy has no effect", fmt.Sprintf(`document.body.innerText.includes(%q) && !document.querySelector(".way li.bad")`, unenforced))
		return
	}
	p.shows(t, time.Minute, "the policy stops the packet", `document.body.innerText.includes("The packet is blocked.") && document.querySelector(".way li.bad").innerText.includes("quarantine")`)
	p.shoot(t, "lab-pods-isolated-1280")
	if err := lab.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	p.shows(t, time.Minute, "the way is free again", `document.body.innerText.includes("No object of the cluster blocks the packet.")`)
}

func rolloutIsSeen(t *testing.T, p pages, healthy string) {
	p.visit("/", healthy)
	// A rollout on three nodes may take less time than a look at the page.
	p.Do(`window.rolled = 0; new MutationObserver(() => { window.rolled += document.querySelectorAll("progress").length; }).observe(document.body, {childList: true, subtree: true})`)
	lab.Edit(t, func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug })
	p.shows(t, 2*time.Minute, "the rollout is shown with its share", `window.rolled > 0`)
	if *screenshots {
		p.shows(t, 2*time.Minute, "the rollout continues", `document.querySelector("progress")`)
		p.shoot(t, "lab-overview-rollout-1280")
	}
	p.shows(t, 5*time.Minute, "its end is shown", `!document.querySelector("progress") && `+healthy)
	p.visit("/history", `document.querySelectorAll(".card").length > 1 && document.querySelector(".card").innerText.includes("active")`)
}

func connectivityIsTested(t *testing.T, p pages) {
	p.visit("/paths", `document.getElementById("try") && !document.getElementById("try").disabled`)
	p.Do(`document.getElementById("try").click()`)
	p.shows(t, 4*time.Minute, "the connectivity test reports its scenarios", `/[1-9]\d of \d+ scenarios pass/.test(document.body.innerText)`)
	p.shoot(t, "lab-paths-test-1280")
}

func unpluggedNodeIsSeen(t *testing.T, p pages) {
	p.visit("/nodes", `document.querySelectorAll(".map rect.good").length === 3`)
	if _, err := lab.Lab(t.Context(), "unplug", "worker-1"); err != nil {
		t.Fatal(err)
	}
	plug := func(ctx context.Context) error {
		_, err := lab.Lab(ctx, "plug", "worker-1")
		return err
	}
	t.Cleanup(func() {
		if err := plug(context.Background()); err != nil {
			t.Error(err)
		}
		if err := lab.WaitSettled(context.Background(), 5*time.Minute); err != nil {
			t.Error(err)
		}
	})
	p.shows(t, 5*time.Minute, "the map shows it", `document.querySelector("rect[data-node=worker-1]").classList.contains("bad") && document.querySelector("tbody th").textContent === "worker-1"`)
	p.shoot(t, "lab-nodes-unplugged-1280")
	p.visit("/paths", `document.getElementById("body").hasAttribute("data-ready")`)
	p.shows(t, 5*time.Minute, "the checks of its paths fail", `/[1-9]\d* of \d+ connectivity checks fail/.test(document.body.innerText) && document.querySelector("tbody").innerText.includes("worker-1")`)
	p.shoot(t, "lab-paths-unplugged-1280")
	p.visit("/nodes", `document.querySelectorAll(".map rect.bad").length === 1`)
	if err := plug(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.shows(t, 5*time.Minute, "it returns", `document.querySelectorAll(".map rect.good").length === 3`)
}

// overviewOf is the page Overview of an archive of cno doctor.
func overviewOf(t *testing.T, archive string) (page struct {
	Sentence string
	Status   struct{ State string }
	Findings []struct{ What, Cause string }
}) {
	t.Helper()
	out := cno(t, 0, "ui", "overview", "-o", "json", "--archive", archive)
	if err := json.Unmarshal([]byte(out), &page); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return page
}
