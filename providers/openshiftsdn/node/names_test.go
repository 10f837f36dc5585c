package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/cluster-network-operator/cno/internal/testing/nameserver"
)

// TestNamesOverTime: when a name is asked for again, and how long its addresses stay.
func TestNamesOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
		var mu sync.Mutex
		asked, changes := map[string]int{}, 0
		next := map[string]func() (answer, error){
			"moves.test": func() (answer, error) { return answer{[]netip.Addr{one}, 10 * time.Second}, nil },
			"fails.test": func() (answer, error) { return answer{}, errors.New("refused") },
			"long.test":  func() (answer, error) { return answer{[]netip.Addr{one}, 24 * time.Hour}, nil },
			"zero.test":  func() (answer, error) { return answer{[]netip.Addr{one}, 0}, nil },
		}
		n := newNames(func(ctx context.Context, name string) (answer, error) {
			if name == "slow.test" {
				<-ctx.Done() // it must not delay the others
				return answer{}, ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			asked[name]++
			return next[name]()
		}, func() { mu.Lock(); changes++; mu.Unlock() })
		ctx, cancel := context.WithCancel(t.Context())
		n.watch(ctx, []string{"slow.test", "moves.test", "fails.test", "long.test", "zero.test"})
		expect := func(why, name string, want ...netip.Addr) {
			t.Helper()
			synctest.Wait()
			if got := n.get(name); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %s has %v, want %v", why, name, got, want)
			}
		}
		expect("at once", "moves.test", one)
		expect("no answer", "slow.test")
		set := func(name string, f func() (answer, error)) { mu.Lock(); next[name] = f; mu.Unlock() }
		set("moves.test", func() (answer, error) { return answer{[]netip.Addr{two}, 10 * time.Second}, nil })
		time.Sleep(11 * time.Second)
		expect("the former address is kept for a while", "moves.test", one, two)
		time.Sleep(30 * time.Second)
		expect("and then is not", "moves.test", two)
		set("moves.test", func() (answer, error) { return answer{}, errors.New("refused") })
		time.Sleep(10 * time.Minute)
		expect("without an answer nothing changes", "moves.test", two)
		set("moves.test", func() (answer, error) { return answer{}, errNoName })
		time.Sleep(2 * time.Minute)
		expect("a name that does not exist any more", "moves.test")
		set("moves.test", func() (answer, error) { return answer{[]netip.Addr{one}, time.Minute}, nil })
		time.Sleep(lastRetry)
		expect("it is asked for again after failures", "moves.test", one)
		mu.Lock()
		if asked["long.test"] != 1 || asked["zero.test"] < 500 || asked["fails.test"] < 20 || asked["fails.test"] > 40 {
			t.Errorf("asked %v within 13 minutes", asked)
		}
		mu.Unlock()
		n.watch(ctx, []string{"long.test"})
		expect("a name that no rule has any more", "zero.test")
		expect("others stay", "long.test", one)
		cancel()
		synctest.Wait()
	})
}

func TestLookup(t *testing.T) {
	record := nameserver.Record
	a := func(last byte) *dnsmessage.AResource { return &dnsmessage.AResource{A: [4]byte{198, 51, 100, last}} }
	at, err := nameserver.Serve(t, "127.0.0.1:0", func(q dnsmessage.Question, tcp bool) (m dnsmessage.Message) {
		switch q.Name.String() {
		case "several.test.":
			m.Answers = []dnsmessage.Resource{record("several.test.", 60, a(1)), record("several.test.", 60, a(2))}
		case "alias.test.":
			m.Answers = []dnsmessage.Resource{record("alias.test.", 5, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("real.test.")}), record("real.test.", 300, a(3))}
		case "large.test.":
			if m.Truncated = !tcp; tcp {
				m.Answers = []dnsmessage.Resource{record("large.test.", 60, a(4))}
			}
		case "none.test.":
			m.RCode = dnsmessage.RCodeNameError
		case "empty.test.":
		default:
			m.RCode = dnsmessage.RCodeServerFailure
		}
		return m
	})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for _, row := range []struct {
		why, name string
		servers   []string
		want      string
		ttl       time.Duration
		missing   bool
	}{
		{"several addresses", "several.test", []string{at}, "[198.51.100.1 198.51.100.2]", time.Minute, false},
		{"a final dot", "several.test.", []string{at}, "[198.51.100.1 198.51.100.2]", time.Minute, false},
		{"another name for one: the shorter time counts", "alias.test", []string{at}, "[198.51.100.3]", 5 * time.Second, false},
		{"what does not fit comes by TCP", "large.test", []string{at}, "[198.51.100.4]", time.Minute, false},
		{"the first server does not run", "several.test", []string{closed.LocalAddr().String(), at}, "[198.51.100.1 198.51.100.2]", time.Minute, false},
		{"a name that does not exist", "none.test", []string{at}, "", 0, true},
		{"a name without addresses", "empty.test", []string{at}, "", 0, true},
		{"a failure", "broken.test", []string{at}, "", 0, false},
		{"no servers", "several.test", nil, "", 0, false},
		{"what is no name", string(make([]byte, 300)), []string{at}, "", 0, false},
	} {
		got, err := lookup(t.Context(), row.servers, row.name)
		if (err == nil) != (row.want != "") || errors.Is(err, errNoName) != row.missing {
			t.Errorf("%s: %v", row.why, err)
		}
		if err == nil && (fmt.Sprint(got.addresses) != row.want || got.ttl != row.ttl) {
			t.Errorf("%s: %+v", row.why, got)
		}
	}
	file := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(file, []byte("# a comment\nsearch test\nnameserver 192.0.2.53\nnameserver fd00::53\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := nameServers(file); err != nil || fmt.Sprint(got) != "[192.0.2.53:53 [fd00::53]:53]" {
		t.Errorf("name servers: %v, %v", got, err)
	}
}
