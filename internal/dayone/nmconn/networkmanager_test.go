package nmconn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// reader is NetworkManager's own reader of keyfiles: nmcli, which needs no daemon for it.
type reader struct {
	nmcli string
	mu    sync.Mutex
	known map[string]string
}

var nmcli = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("../../../hack/networkmanager.sh").Output()
	if e, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%w: %s", err, e.Stderr)
	}
	return strings.TrimSpace(string(out)), err
})

func newReader(t testing.TB) *reader {
	t.Helper()
	path, err := nmcli()
	if err != nil {
		t.Fatalf("hack/networkmanager.sh: %v", err)
	}
	return &reader{nmcli: path, known: map[string]string{}}
}

// drops returns why NetworkManager drops a file; empty if it reads it.
func (r *reader) drops(f File) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why, ok := r.known[f.Content]; ok {
		return why
	}
	cmd := exec.Command(r.nmcli, "--offline", "connection", "modify", "connection.autoconnect-retries", "-1")
	cmd.Stdin, cmd.Env = strings.NewReader(f.Content), append(os.Environ(), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	why := ""
	if err != nil {
		why = strings.TrimSpace(string(out))
	}
	r.known[f.Content] = why
	return why
}

// newer are kinds of interfaces that NetworkManager 1.42, which is asked, does not know yet.
func newer(why string) bool {
	return strings.Contains(why, "unknown setting name") || strings.Contains(why, "invalid connection type") || strings.Contains(why, "connection type 'hsr'") || strings.Contains(why, "connection type 'ipvlan'")
}

// accepted checks that NetworkManager reads every file of a document, if it is one for a host at all.
func (r *reader) accepted(t *testing.T, name, text string) (files int) {
	t.Helper()
	doc, _ := nmstate.Parse(name, []byte(text))
	if doc == nil {
		return 0
	}
	out, _ := Profiles(doc)
	for _, f := range out {
		if why := r.drops(f); why != "" && !newer(why) {
			t.Errorf("%s: NetworkManager drops %s: %s\n%s\nof\n%s", name, f.Name, why, f.Content, text)
		}
	}
	return len(out)
}

func documents(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"testdata/*.yml", "testdata/derived/*.yml", "../../../docs/examples/hosts/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(path)] = string(data)
		}
	}
	return out
}

func TestNetworkManagerReadsEveryGoldenFile(t *testing.T) {
	r, files := newReader(t), 0
	for name, text := range documents(t) {
		files += r.accepted(t, name, text)
	}
	if files < 60 {
		t.Errorf("only %d files", files)
	}
}

// TestNetworkManagerReadsWhatTheFuzzerFound has the finds that are kept in testdata/fuzz, and documents that a fuzzer makes of the
// golden ones by exchanging, removing and doubling their parts: the same ones in each run.
func TestNetworkManagerReadsWhatTheFuzzerFound(t *testing.T) {
	r := newReader(t)
	finds, _ := filepath.Glob("testdata/fuzz/FuzzGenerate/*")
	for _, path := range finds {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if _, err := fmt.Sscanf(strings.SplitN(string(data), "\n", 3)[1], "[]byte(%q)", &text); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		r.accepted(t, filepath.Base(path), text)
	}
	m, files := newMutator(t), 0
	for n := 0; n < 4000 && files < 400; n++ {
		files += r.accepted(t, fmt.Sprintf("mutant %d", n), m.next())
	}
}

// mutator makes documents of parts of others.
type mutator struct {
	random *rand.Rand
	names  []string
	docs   map[string]string
	// parts are the values that occur under a key.
	parts map[string][]*yaml.Node
}

func newMutator(t testing.TB) *mutator {
	m := &mutator{random: rand.New(rand.NewPCG(1, 2)), docs: documents(t), parts: map[string][]*yaml.Node{}}
	for name := range m.docs {
		m.names = append(m.names, name)
	}
	slices.Sort(m.names)
	for _, name := range m.names {
		if root, problems := nmstate.Root(name, []byte(m.docs[name])); problems == nil && root != nil {
			m.collect(root)
		}
	}
	return m
}

func (m *mutator) collect(n *yaml.Node) {
	for at, c := range n.Content {
		if n.Kind == yaml.MappingNode && at%2 == 1 {
			key := n.Content[at-1].Value
			m.parts[key] = append(m.parts[key], c)
		}
		m.collect(c)
	}
}

// next is a document with some values in the places of others of the same key, and some keys missing.
func (m *mutator) next() string {
	name := m.names[m.random.IntN(len(m.names))]
	root, problems := nmstate.Root(name, []byte(m.docs[name]))
	if problems != nil || root == nil {
		return ""
	}
	m.change(root)
	out, err := yaml.Marshal(root)
	if err != nil {
		return ""
	}
	return string(out)
}

func (m *mutator) change(n *yaml.Node) {
	for at := 0; at < len(n.Content); at++ {
		key := ""
		if n.Kind == yaml.MappingNode {
			if at%2 == 0 {
				continue
			}
			key = n.Content[at-1].Value
		}
		switch dice := m.random.IntN(24); {
		case dice == 0 && key != "":
			n.Content = slices.Delete(n.Content, at-1, at+1)
			at -= 2
		case dice == 1 && len(m.parts[key]) > 0:
			n.Content[at] = m.parts[key][m.random.IntN(len(m.parts[key]))]
		default:
			m.change(n.Content[at])
		}
	}
}
