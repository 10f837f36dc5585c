package flannel

import (
	"fmt"
	"strings"
	"testing"
)

// Bits of Linux capabilities, as /proc/PID/status shows them.
const capNetAdmin, capNetRaw = 1 << 12, 1 << 13

// process prints the privileges of the first process with a command line on a node: user, bounding set of capabilities, no_new_privs,
// seccomp mode, and the mount options of its root file system.
func process(t *testing.T, node, commandLine string) string {
	t.Helper()
	out, err := lab.Lab(t.Context(), "exec", node, "--", "sh", "-c", `for d in /proc/[0-9]*; do
	case "$(tr '\0' ' ' <$d/cmdline 2>/dev/null)" in '`+commandLine+`'*) ;; *) continue;; esac
	awk '/^Uid:/{u=$2} /^CapBnd:/{c=$2} /^NoNewPrivs:/{n=$2} /^Seccomp:/{s=$2} END{printf "user %s capabilities %s nonewprivs %s seccomp %s", u, c, n, s}' $d/status
	awk '$5=="/"{split($6,o,","); print " root", o[1]}' $d/mountinfo
	break; done`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestProcessesHaveOnlyTheDocumentedPrivileges(t *testing.T) {
	for _, row := range []struct {
		node, commandLine string
		user              int
		capabilities      uint64
	}{
		{"cp-0", "/usr/bin/cluster-network-operator start", 65534, 0},
		{"cp-0", "/usr/bin/etcd --config-file /etc/flannel-etcd", 0, 0},
		{"worker-0", "/usr/bin/flanneld run", 0, capNetAdmin | capNetRaw},
		{"worker-0", "/usr/bin/kube-proxy", 0, capNetAdmin},
		{"worker-0", "/usr/bin/cluster-network-operator check-target", 65534, 0},
		{"worker-0", "/usr/bin/cluster-network-operator check-endpoints", 65534, 0},
	} {
		want := fmt.Sprintf("user %d capabilities %016x nonewprivs 1 seccomp 2 root ro", row.user, row.capabilities)
		if got := process(t, row.node, row.commandLine); got != want {
			t.Errorf("%s: %q, want %q", row.commandLine, got, want)
		}
	}
}
