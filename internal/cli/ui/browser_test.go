package ui

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"

	"github.com/cluster-network-operator/cno/internal/testing/browser"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

var screenshots = flag.Bool("screenshots", false, "write the screenshots of docs/ui.md")

// shots is where they are.
const shots = "../../../docs/ui"

// visit is one page of the browser test.
type visit struct {
	name, path string
	// ready is an expression that is true once the page shows what it is about.
	ready string
}

var pages = []visit{
	{"overview", "/", `document.body.innerText.includes("The Flannel network is healthy.")`},
	{"nodes", "/nodes", `document.querySelectorAll(".map rect").length === 9`},
	{"node", "/nodes/worker-1", `document.body.innerText.includes("10.244.4.0/24")`},
	{"paths", "/paths", `document.body.innerText.includes("All 24 connectivity checks reach")`},
	{"change", "/change", `document.querySelector("#plan")?.dataset.decision === "unchanged"`},
	{"history", "/history", `document.body.innerText.includes("Revision 2 (active)")`},
	{"hosts", "/hosts", `document.querySelectorAll(".picture rect").length > 3`},
	{"pods", "/pods?from=shop%2Fjob&to=shop%2Fdb&port=5432&protocol=TCP", `document.body.innerText.includes("Flannel does not enforce NetworkPolicies")`},
}

// TestThePagesInABrowser drives all pages in one browser against one API server: starting both takes longer than all else.
func TestThePagesInABrowser(t *testing.T) {
	w := newWorld(t, 6)
	address, token := serve(t, "--kubeconfig", w.server.Kubeconfig)
	b := browser.Start(t)
	b.Look(1280, 900, false)
	b.Open(address + "/?token=" + token)
	b.Wait("the overview", pages[0].ready)
	var shown string
	if err := b.Eval("location.href", &shown); err != nil || shown != address+"/" {
		t.Errorf("%v: the address still is %s", err, shown)
	}
	t.Run("every page is accessible, wide and light, narrow and dark", func(t *testing.T) { accessible(t, b, address) })
	t.Run("the keyboard is enough", func(t *testing.T) { keyboard(t, b, address) })
	t.Run("a change is planned, acknowledged and applied", func(t *testing.T) { changed(t, w, b, address) })
	t.Run("a narrow window shows the plan beside each field", func(t *testing.T) { narrow(t, b, address) })
	t.Run("a revision is planned to return to", func(t *testing.T) { returned(t, b, address) })
	t.Run("what differs on a host is in its picture", func(t *testing.T) { differing(t, b, address) })
	t.Run("a document is drawn before it is applied", func(t *testing.T) { drawn(t, b, address) })
	t.Run("an unplugged node is seen without loading again", func(t *testing.T) { unplugged(t, w, b, address) })
	t.Run("a rollout is seen without loading again", func(t *testing.T) { rollout(t, w, b, address) })
	t.Run("a pod that a policy isolates is seen without loading again", func(t *testing.T) { isolated(t, w, b, address) })
	for _, r := range b.Requests() {
		if u, err := url.Parse(r); err != nil || u.Scheme != "about" && "http://"+u.Host != address {
			t.Errorf("a page asked for %s", r)
		}
	}
	// Browsers report each response of an error, also that of the change whose plan is outdated.
	outdated := "Failed to load resource: the server responded with a status of 409 (Conflict) " + address + "/api/v1/apply"
	for _, p := range b.Problems() {
		if p != outdated {
			t.Errorf("the browser reports: %s", p)
		}
	}
}

// All users of a machine can read the arguments of its processes, and so those of the program that opens a browser.
func TestABrowserIsOpenedWithoutTheTokenInItsArguments(t *testing.T) {
	w := newWorld(t, 2)
	b := browser.Start(t)
	programs, temporary := t.TempDir(), t.TempDir()
	arguments := filepath.Join(programs, "arguments")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s.new && mv %s.new %s\n", arguments, arguments, arguments)
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temporary)
	t.Run("while it serves", func(t *testing.T) {
		address, _ := start(t, "--kubeconfig", w.server.Kubeconfig)
		var given string
		eventually.Holds(t, "the program is called", func() (string, bool) {
			text, err := os.ReadFile(arguments)
			given = strings.TrimSuffix(string(text), "\n")
			return fmt.Sprint(err), err == nil
		})
		for file, mode := range map[string]os.FileMode{given: 0o600, filepath.Dir(given): 0o700} {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode || !strings.HasPrefix(file, temporary) {
				t.Fatalf("the argument is %q, not a file that only this user can read: %v, %v", given, err, info)
			}
		}
		b.In(t)
		b.Open("file://" + given)
		b.Wait("the overview", pages[0].ready)
		b.Open("file://" + given)
		b.Wait("the file is useless after that", `document.body.innerText.includes("the token is wrong")`)
		b.Open(address + "/change")
		b.Wait("the plan, which needs the cookie and the key", pages[4].ready)
		b.Do(`localStorage.clear()`)
		b.Open(address + "/change")
		b.Wait("a stolen cookie changes nothing", `document.body.innerText.includes("this browser has no key for changes and tests")`)
	})
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%v: %v is left", err, left)
	}
}

// violation is what axe finds.
type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	}
}

func accessible(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	for _, p := range pages {
		for _, look := range []struct {
			width int
			dark  bool
		}{{1280, false}, {390, true}} {
			b.Look(look.width, 900, look.dark)
			b.Open(address + p.path)
			b.Wait(p.name, p.ready)
			var wide int
			if err := b.Eval("document.documentElement.scrollWidth", &wide); err != nil || wide > look.width {
				t.Errorf("%s is %d pixels wide in a window of %d (%v)", p.name, wide, look.width, err)
			}
			shoot(t, b, fmt.Sprintf("%s-%d", p.name, look.width))
		}
	}
	b.Look(1280, 900, false)
}

// shoot checks what is shown with axe, and writes a screenshot for the docs if they are asked for.
func shoot(t *testing.T, b *browser.Page, name string) {
	t.Helper()
	b.Do(axe(t))
	var found []violation
	if err := b.Eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)`, &found); err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		for _, n := range v.Nodes {
			t.Errorf("%s: %s (%s): %s\n%s", name, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
	if !*screenshots {
		return
	}
	if err := os.MkdirAll(shots, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shots, name+".webp"), b.Screenshot(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func keyboard(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/")
	b.Wait("the overview", pages[0].ready)
	var order []string
	for range 4 {
		b.Press("Tab")
		var at string
		if err := b.Eval("document.activeElement.textContent", &at); err != nil {
			t.Fatal(err)
		}
		order = append(order, at)
	}
	if want := []string{"Skip to content", "Overview", "Nodes", "Paths"}; !slices.Equal(order, want) {
		t.Errorf("Tab leads to %q, want %q", order, want)
	}
	b.Press("Enter")
	b.Wait("Enter opens Paths", pages[3].ready)
	b.Wait("the focus is on the title of the page", `document.activeElement.id === "title" && document.title.startsWith("Paths")`)
	b.Do("history.back()")
	b.Wait("back leads to the overview", pages[0].ready)
}

func changed(t *testing.T, w *world, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/change")
	b.Wait("the plan of what is", pages[4].ready)
	write := func(id, value string) {
		b.Do(fmt.Sprintf(`(() => { const s = document.getElementById(%q); s.value = %q; s.dispatchEvent(new Event("input")); s.dispatchEvent(new Event("change")); })()`, id, value))
	}
	write("spec-defaultNetwork-flannelConfig-backend", "vxlan")
	b.Wait("the change needs an acknowledgement", `document.querySelector("#plan").dataset.decision === "needs-acknowledgement"`)
	b.Wait("the form writes YAML", `document.getElementById("yaml").value.includes("backend: vxlan")`)
	b.Wait("it cannot be applied yet", `document.getElementById("apply").disabled`)
	shoot(t, b, "change-acknowledge-1280")
	b.Do(`document.getElementById("acknowledge").click()`)
	b.Wait("it can be applied", `!document.getElementById("apply").disabled`)
	write("spec-defaultNetwork-flannelConfig-backend", "host-gw")
	write("spec-logLevel", "Debug")
	b.Wait("another change is planned", `document.querySelector("#plan").dataset.decision === "safe"`)
	w.setLogLevel(osv1.Trace)
	b.Do(`document.getElementById("force").click(); document.getElementById("apply").click()`)
	b.Wait("what was edited since the plan is not overwritten", `document.body.innerText.includes("Network/cluster was changed after the plan was made")`)
	if level := w.logLevel(); level != osv1.Trace {
		t.Errorf("the network has log level %s", level)
	}
	b.Wait("the new plan can be applied", `!document.getElementById("apply").disabled`)
	b.Do(`document.getElementById("apply").click()`)
	b.Wait("it is applied", `document.body.innerText.includes("Applied as generation")`)
	if level := w.logLevel(); level != osv1.Debug {
		t.Errorf("the network has log level %s", level)
	}
}

// narrow moves the focus to fields that are far apart. The plan covers the lower part of the window and none of them.
func narrow(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	b.Look(390, 900, false)
	b.Open(address + "/change")
	b.Wait("the plan", `document.querySelector("#plan")?.dataset.decision`)
	for _, id := range []string{"spec-logLevel", "spec-useMultiNetworkPolicy", "spec-defaultNetwork-type"} {
		b.Do(fmt.Sprintf(`document.getElementById(%q).focus()`, id))
		b.Wait(id+" and the plan are in view", fmt.Sprintf(`(() => {
			const field = document.getElementById(%q).getBoundingClientRect(), plan = document.getElementById("plan").parentElement.getBoundingClientRect();
			return field.top >= 0 && field.bottom <= plan.top && plan.top < innerHeight - 100;
		})()`, id))
	}
	b.Look(1280, 900, false)
}

func returned(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/history")
	b.Wait("the history", pages[5].ready)
	b.Do(`document.getElementById("back-2").click()`)
	b.Wait("the plan of the way back", `document.querySelector("#rollback h2")?.textContent.includes("revision 2") && !document.querySelector("#rollback #apply").disabled`)
	b.Do(`document.querySelector("#rollback #apply").click()`)
	b.Wait("the network is as it was", `document.body.innerText.includes("Rolled back to revision 2")`)
}

func differing(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/hosts")
	b.Wait("the pictures", pages[6].ready)
	var boxes []string
	if err := b.Eval(`[...document.querySelectorAll("[id='document-storage-storage-0.yml'] .box.differs")].map(r => r.parentElement.textContent)`, &boxes); err != nil {
		t.Fatal(err)
	}
	if len(boxes) != 2 || !strings.Contains(boxes[0], "storage-0: mtu is 1500") || !strings.Contains(boxes[1], "storage-0: ipv4 address is missing") {
		t.Errorf("the marked boxes are %q", boxes)
	}
	b.Wait("no other document is marked", `document.querySelectorAll(".box.differs").length === 2`)
}

func drawn(t *testing.T, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/hosts")
	b.Wait("the pictures", pages[6].ready)
	b.Do(`document.querySelector("#draft summary").click()`)
	b.Wait("the editor", `document.getElementById("text").checkVisibility()`)
	write := func(text string) {
		b.Do(fmt.Sprintf(`(() => { const t = document.getElementById("text"); t.value = %q; t.dispatchEvent(new Event("input")); })()`, text))
	}
	write("interfaces:\n- {name: bond0, type: bond, mtu: 20, link-aggregation: {mode: none, port: [eno1]}}\n- {name: eno1, type: ethernet, ipv4: {address: [{ip: 10.0.0, prefix-length: 24}]}}\n")
	b.Wait("all errors are shown at once", `document.getElementById("drawing").dataset.drawn === "errors" && document.querySelectorAll("#drawing > ul li").length > 1`)
	write("interfaces:\n- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}\n" +
		"- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: br-ex}, {name: bond0}]}}\n- {name: br-ex, type: ovs-interface, copy-mac-from: bond0, ipv4: {enabled: true, dhcp: true}}\n")
	b.Wait("the picture", `document.getElementById("drawing").dataset.drawn === "valid" && document.querySelectorAll("#drawing .picture rect").length === 4`)
	shoot(t, b, "hosts-draft-1280")
}

func unplugged(t *testing.T, w *world, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/nodes")
	b.Wait("the map", pages[1].ready)
	w.unplug("worker-2")
	b.Wait("the map shows it", `document.querySelector("rect[data-node=worker-2]").classList.contains("bad") && document.body.innerText.includes("1 not ready")`)
	b.Wait("it is the first of the list", `document.querySelector("tbody th").textContent === "worker-2"`)
	b.Wait("it is announced to screen readers", `document.querySelector("[role=status]").textContent === "worker-2: not ready"`)
	shoot(t, b, "nodes-unplugged-1280")
	b.Open(address + "/paths")
	b.Wait("the checks to it fail", `document.body.innerText.includes("3 of 24 connectivity checks fail") && document.body.innerText.includes("connection to 10.244.5.2:8080")`)
	shoot(t, b, "paths-unplugged-1280")
}

func rollout(t *testing.T, w *world, b *browser.Page, address string) {
	b.In(t)
	b.Open(address + "/")
	b.Wait("the overview", pages[0].ready)
	w.rolledOut(3)
	w.condition("True", "Deploying", `DaemonSet "openshift-flannel/flanneld" update is rolling out (3 out of 9 updated)`, "Progressing", "FlannelProgressing")
	b.Wait("the rollout", `document.querySelector("progress")?.value === 3 && document.body.innerText.includes("33 % of the pods are up to date") && document.body.innerText.includes("left")`)
	shoot(t, b, "overview-rollout-1280")
	w.rolledOut(9)
	w.condition("False", "AsExpected", "", "Progressing", "FlannelProgressing")
	b.Wait("its end", `!document.querySelector("progress") && document.body.innerText.includes("is healthy")`)
}

func isolated(t *testing.T, w *world, b *browser.Page, address string) {
	b.In(t)
	w.enforce()
	b.Open(address + "/pods")
	b.Wait("the page", `document.getElementById("body").hasAttribute("data-ready")`)
	b.Do(`document.getElementById("from").value = "shop/job"; document.getElementById("to").value = "shop/web"; document.getElementById("show").click()`)
	b.Wait("the way is free", `document.querySelectorAll(".way li").length > 3 && document.body.innerText.includes("No object of the cluster blocks the packet.")`)
	b.Wait("the question is in the address", `location.search === "?from=shop%2Fjob&to=shop%2Fweb&port=80&protocol=TCP"`)
	w.isolate("quarantine", "web")
	b.Wait("the policy stops it", `document.body.innerText.includes("The packet is blocked.") && document.querySelector(".way li.bad").innerText.includes("shop/quarantine")`)
	b.Wait("it is announced to screen readers", `document.querySelector("[role=status]").textContent === "The packet is blocked."`)
	shoot(t, b, "pods-isolated-1280")
	w.relabel("web", "released")
	b.Wait("another label releases the pod", `document.body.innerText.includes("No object of the cluster blocks the packet.")`)
}

// A user who may only read sees all pages, and no buttons that would not work.
func TestAReaderSeesEverythingButTheButtons(t *testing.T) {
	w := newWorld(t, 2)
	config := w.reader()
	address, token := serve(t, "--kubeconfig", config)
	b := browser.Start(t)
	b.Open(address + "/change?token=" + token)
	b.Wait("the plan", `document.querySelector("#plan")?.dataset.decision`)
	b.Wait("no button", `!document.getElementById("apply") && document.body.innerText.includes("This user may not change the network")`)
	b.Open(address + "/history")
	b.Wait("the history without buttons", `document.body.innerText.includes("Revision 2 (active)") && document.querySelectorAll("main button").length === 0`)
	b.Open(address + "/paths")
	b.Wait("no test", `document.getElementById("try").disabled`)
}

// The pages of an archive are those of the cluster that it was taken from.
func TestAnArchiveIsShownLikeTheClusterItIsOf(t *testing.T) {
	w := newWorld(t, 2)
	file := archiveOf(t, w)
	for _, name := range []string{"overview", "nodes", "nodes/worker-1", "paths", "history", "hosts"} {
		_, live, liveErr := run(t, name, "-o", "json", "--kubeconfig", w.server.Kubeconfig)
		status, archived, err := run(t, name, "-o", "json", "--archive", file)
		if status != 0 || liveErr != "" || err != "" {
			t.Fatalf("%s: status %d, %s%s", name, status, liveErr, err)
		}
		if a, b := comparable(t, live), comparable(t, archived); a != b {
			t.Errorf("%s differs; the cluster has\n%s\nthe archive has\n%s", name, a, b)
		}
	}
	address, token := serve(t, "--archive", file)
	b := browser.Start(t)
	b.Open(address + "/?token=" + token)
	b.Wait("what doctor found", `document.body.innerText.includes("Findings of cno doctor") && document.body.innerText.includes("An archive does not change.")`)
}

// comparable is a document without what an archive has more: what doctor found, what it misses, and pods of users.
func comparable(t *testing.T, text string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"findings", "missing", "pods", "notes"} {
		delete(doc, field)
	}
	out, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
