package residency

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnlyReadOnlyPagesOfTheProgramAreReleased(t *testing.T) {
	maps := `00400000-01b9a000 r-xp 00000000 08:01 42 /usr/bin/operator
01b9a000-035f1000 r--p 0179a000 08:01 42 /usr/bin/operator
035f1000-03697000 rw-p 031f1000 08:01 42 /usr/bin/operator
c000000000-c004000000 rw-p 00000000 00:00 0
7f00-8f00 r--p 00000000 08:01 43 /usr/lib/locale
7ffd-7fff r-xp 00000000 00:00 0 [vdso]
`
	want := []region{{0x400000, 0x1b9a000}, {0x1b9a000, 0x35f1000}}
	if diff := cmp.Diff(want, readOnly([]byte(maps), "/usr/bin/operator"), cmp.AllowUnexported(region{})); diff != "" {
		t.Error(diff)
	}
}

func TestProgramContinuesAfterRelease(t *testing.T) {
	before := filePages(t)
	if err := Release(); err != nil {
		t.Fatal(err)
	}
	if after := filePages(t); after >= before {
		t.Errorf("%d KiB of files before, %d after", before, after)
	}
}

// filePages is how much of files this process has in memory, in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestResidentMatchesTheKernel(t *testing.T) {
	size, err := Resident()
	if err != nil || size < 1<<20 || size > 1<<32 {
		t.Errorf("resident: %d bytes, %v", size, err)
	}
}
