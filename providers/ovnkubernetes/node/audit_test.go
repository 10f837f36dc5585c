package node_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// configureAudit replaces the settings of audit messages, as the kubelet does.
func (m *machine) configureAudit(change func(*agentconfig.Audit)) {
	m.t.Helper()
	a := agentconfig.DefaultAudit()
	change(&a)
	text, err := a.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(m.audit()+".new", text)
	if err := os.Rename(m.audit()+".new", m.audit()); err != nil {
		m.t.Fatal(err)
	}
}

// messages waits until a file has a message with all of some words. What causes one is done again meanwhile, since messages may be lost on a busy machine: packets to
// ovn-controller are dropped when it cannot follow.
func messages(t *testing.T, file string, cause func(), words ...string) {
	t.Helper()
	eventually.Holds(t, file+" has a message with "+strings.Join(words, ", "), func() (string, bool) {
		cause()
		content, err := os.ReadFile(file)
		if err != nil {
			return err.Error(), false
		}
		for line := range strings.Lines(string(content)) {
			found := true
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return line, true
			}
		}
		return string(content), false
	})
}

func TestAuditMessagesOfRealPackets(t *testing.T) {
	c := running(t)
	one, two := c.nodes[0], c.nodes[1]
	a, b, far := one.pod("a"), one.pod("b"), two.pod("far")
	nodetest.Serve(t, b.Namespace, ":8080")
	nodetest.Reaches(t, a.Namespace, b.addr(), podMTU)
	const denied, allowed = "isolation one ingress drop", "one/web ingress 0"
	// The rows that the master writes for a namespace with deny: alert and allow: notice.
	c.nbctl("meter-add", "acl-logging", "drop", "20", "pktps", "--", "pg-add", "isolated", b.port(),
		"--", "--log", "--severity=alert", "--meter=acl-logging", "--name="+denied, "acl-add", "isolated", "to-lport", "1000", "outport == @isolated", "drop",
		"--", "acl-add", "isolated", "to-lport", "1001", "outport == @isolated && (arp || nd)", "allow",
		"--", "--log", "--severity=notice", "--meter=acl-logging", "--name="+allowed, "acl-add", "isolated", "to-lport", "1001", "outport == @isolated && tcp.dst == 8080", "allow-related")
	c.nbctl("--wait=hv", "sync")
	drop := func() { _, _ = a.Try("ping", "-n", "-c", "1", "-W", "1", b.addr().String()) }
	source := "nw_src=" + a.addr().String()

	t.Run("allowed and denied connections are in the file of the node", func(t *testing.T) {
		connects := func() { nodetest.Answers(t, a.Namespace, b.addr().String()+":8080") }
		messages(t, one.auditLog(), drop, `name="`+denied+`"`, "verdict=drop", "severity=alert", "icmp", source)
		messages(t, one.auditLog(), connects, `name="`+allowed+`"`, "verdict=allow", "severity=notice", "tcp", source, "tp_dst=8080")
	})
	t.Run("a complete file is kept, and the next one has the next messages", func(t *testing.T) {
		one.configureAudit(func(a *agentconfig.Audit) { a.MaxFileSize, a.MaxLogFiles = 1, 1 })
		for _, older := range []string{"2001", "2002"} {
			one.write(strings.TrimSuffix(one.auditLog(), ".log")+"."+older+".log", "")
		}
		file, err := os.OpenFile(one.auditLog(), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(strings.Repeat("a line\n", 150_000)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		var complete []string
		eventually.Holds(t, "one complete file is left", func() (string, bool) {
			complete, _ = filepath.Glob(strings.TrimSuffix(one.auditLog(), ".log") + ".*.log")
			return strings.Join(complete, " "), len(complete) == 1 && !strings.HasSuffix(complete[0], ".2002.log")
		})
		messages(t, complete[0], func() {}, denied)
		eventually.Holds(t, "the next file has messages", func() (string, bool) {
			drop()
			content, err := os.ReadFile(one.auditLog())
			return string(content), err == nil && strings.Contains(string(content), denied) && !strings.Contains(string(content), "a line")
		})
	})
	t.Run("they are sent to the syslog of the node, and no packet is lost by the change", func(t *testing.T) {
		socket := one.run + "/syslog"
		syslog, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syslog.Close() }()
		received := make(chan string, 100)
		go func() {
			buffer := make([]byte, 4096)
			for {
				n, err := syslog.Read(buffer)
				if err != nil {
					return
				}
				select {
				case received <- string(buffer[:n]):
				default:
				}
			}
		}()
		pinged := make(chan string, 1)
		go func() {
			out, _ := far.Try("ping", "-n", "-q", "-i", "0.01", "-c", "1500", "-W", "5", a.addr().String())
			pinged <- out
		}()
		one.configureAudit(func(a *agentconfig.Audit) { a.Destination, a.Facility = agentconfig.DestinationUnix+socket, "local3" })
		last := "nothing is received"
		eventually.Holds(t, "the syslog has a message", func() (string, bool) {
			drop()
			select {
			case last = <-received:
				// Facility 19 and severity 5 (RFC 5424), which is INFO of ovn-controller.
				return last, strings.HasPrefix(last, "<157>") && strings.Contains(last, denied)
			default:
				return last, false
			}
		})
		if out := <-pinged; !strings.Contains(out, " 0% packet loss") {
			t.Errorf("packets are lost while ovn-controller starts again:\n%s", out)
		}
	})
}
