package lab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ginkgoOutput = `Random Seed: 1795227235 - will randomize all specs

Will run 2 of 7579 specs
------------------------------
SSSSSSSSSSSSS
------------------------------
[sig-network] Services should work [LinuxOnly] [Conformance] [sig-network, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/network/service.go:2288
  STEP: Creating a kubernetes client @ 11/21/26 02:20:29.299
• [36.005 seconds]
------------------------------
[sig-network] DNS should resolve [Conformance] [sig-network, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/network/dns.go:23
• [FAILED] [2.313 seconds]
[sig-network] DNS [It] should resolve [Conformance] [sig-network, Conformance]
------------------------------
Summarizing 1 Failure:
  [FAIL] [sig-network] DNS [It] should resolve [Conformance]

Ran 2 of 7579 Specs in 38.318 seconds
FAIL! -- 1 Passed | 1 Failed | 0 Pending | 7577 Skipped
`

func TestProgressHasALinePerTestAndASummary(t *testing.T) {
	const want = `[1/2] [sig-network] Services should work [LinuxOnly] [Conformance]: ok (36.005s)
[2/2] [sig-network] DNS should resolve [Conformance]: FAILED (2.313s)
Summarizing 1 Failure:
  [FAIL] [sig-network] DNS [It] should resolve [Conformance]

Ran 2 of 7579 Specs in 38.318 seconds
FAIL! -- 1 Passed | 1 Failed | 0 Pending | 7577 Skipped
`
	// Pipes hand output over in pieces of any length.
	for _, size := range []int{1, 7, len(ginkgoOutput)} {
		var out strings.Builder
		p := newProgress(&out)
		for rest := ginkgoOutput; rest != ""; {
			n := min(size, len(rest))
			if _, err := p.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("in pieces of %d:\n%s", size, diff)
		}
	}
}
