package flannel

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/status"
)

func TestEveryReasonHasTheRemedyOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/providers/flannel.md")
	if err != nil {
		t.Fatal(err)
	}
	_, troubleshooting, _ := strings.Cut(string(page), "\n## Troubleshooting\n")
	var want []status.WayOut
	for _, cells := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .+ \\| ([^|]+) \\|$").FindAllStringSubmatch(troubleshooting, -1) {
		want = append(want, status.WayOut{Reason: cells[1], Do: strings.ReplaceAll(cells[2], "`", "")})
	}
	if diff := cmp.Diff(want, wayOuts()); diff != "" || len(want) == 0 {
		t.Errorf("docs/providers/flannel.md (-documentation +code):\n%s", diff)
	}
	shared := map[string]bool{}
	for _, w := range status.WayOuts() {
		shared[w.Reason] = true
	}
	for _, w := range wayOuts() {
		if shared[w.Reason] {
			t.Errorf("%s has a remedy in docs/status.md, too", w.Reason)
		}
	}
}
