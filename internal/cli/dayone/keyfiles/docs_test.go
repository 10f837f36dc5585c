package keyfiles

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

// block returns the first block of a document in a language.
func block(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "```"+language+"\n")
	body, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("no block of %s", language)
	}
	return body
}

func TestTheExampleInTheDocumentationIsCorrect(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/day-one-keyfiles.md")
	if err != nil {
		t.Fatal(err)
	}
	status, out, stderr := run(block(t, string(text), "yaml"), "-f", "-", "-o", "json")
	if status != exit.OK {
		t.Fatal(stderr)
	}
	var got struct{ NetworkManager [][2]string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.NetworkManager {
		if !strings.Contains(string(text), "`"+f[0]+"`") {
			t.Errorf("%s is not mentioned", f[0])
		}
	}
	last := got.NetworkManager[len(got.NetworkManager)-1]
	if diff := cmp.Diff(block(t, string(text), "ini"), last[1]); diff != "" {
		t.Errorf("%s:\n%s", last[0], diff)
	}
}
