package hostapply_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func request(content string, attempt int32) hostapply.Request {
	sum := sha256.Sum256([]byte(content))
	return hostapply.Request{SHA256: hex.EncodeToString(sum[:]), Attempt: attempt}
}

// request does a pass for a request, and checks its result and the address that eth0 has after it.
func (b *bench) request(t *testing.T, r hostapply.Request, result hostapply.Result, address string) hostapply.Report {
	t.Helper()
	report, err := b.engine.Apply(t.Context(), r)
	if report.Result != result || (err == nil) != (result == hostapply.Applied || result == hostapply.Unchanged) {
		t.Fatalf("the result is %q, want %q: %v", report.Result, result, err)
	}
	b.hasAddress(t, address)
	return report
}

func (b *bench) hasAddress(t *testing.T, address string) {
	t.Helper()
	link, _ := b.State.Link("eth0")
	if got := link.Addresses[0].Prefix.Addr().String(); got != address {
		t.Errorf("eth0 has %s, want %s", got, address)
	}
}

// boots does the pass of a boot, which must leave the host with a network.
func (b *bench) boots(t *testing.T, result hostapply.Result, address string) hostapply.Report {
	t.Helper()
	report, err := b.engine.Run(t.Context())
	if err != nil || report.Result != result {
		t.Fatalf("the result is %q, want %q: %v", report.Result, result, err)
	}
	b.hasAddress(t, address)
	return report
}

func TestARequestAppliesTheDocumentThatItNames(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.run(t, hostapply.Applied, "192.0.2.10")
	b.give("master-0.yml", document("192.0.2.11"))
	b.request(t, request(document("192.0.2.12"), 1), hostapply.Refused, "192.0.2.10")
	report := b.request(t, request(document("192.0.2.11"), 1), hostapply.Applied, "192.0.2.11")
	if report.Attempt != 1 || report.Source.File != "master-0.yml" {
		t.Errorf("the report is %+v", report)
	}
	b.request(t, request(document("192.0.2.11"), 1), hostapply.Unchanged, "192.0.2.11")
	if report := b.boots(t, hostapply.Unchanged, "192.0.2.11"); report.Attempt != 0 {
		t.Errorf("the report of a boot answers a request: %+v", report)
	}
	delete(b.files, "master-0.yml")
	b.request(t, request(document("192.0.2.11"), 2), hostapply.Refused, "192.0.2.11")
}

// TestWhatWasRolledBackOnRequestIsNotTriedAgain: neither by another run, nor at a boot, where the kubelet waits for the network.
func TestWhatWasRolledBackOnRequestIsNotTriedAgain(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.run(t, hostapply.Applied, "192.0.2.10")
	b.give("master-0.yml", document("192.0.2.11"))
	b.Silent[gatewayText] = true
	b.Boots = b.State
	b.request(t, request(document("192.0.2.11"), 0), hostapply.RolledBack, "192.0.2.10")
	delete(b.Silent, gatewayText) // it would work now

	b.Calls = nil
	report := b.request(t, request(document("192.0.2.11"), 0), hostapply.RolledBack, "192.0.2.10")
	if !strings.Contains(report.Message, gatewayText) {
		t.Errorf("the second answer is %+v", report)
	}
	report = b.boots(t, hostapply.RolledBack, "192.0.2.10")
	if want := request(document("192.0.2.11"), 0).SHA256; report.Source.SHA256 != want || !strings.Contains(report.Message, gatewayText) {
		t.Errorf("the report of the boot is %+v", report)
	}
	if len(b.Calls) > 0 {
		t.Errorf("the host was changed: %v", b.Calls)
	}
	// What was lost in the reboot is restored, and the other document still not applied.
	b.State.Links[0].Addresses = []livestate.Address{{Prefix: b.State.Links[0].Addresses[0].Prefix}}
	b.State.Routes = nil
	b.boots(t, hostapply.RolledBack, "192.0.2.10")
	if len(b.State.Routes) == 0 {
		t.Error("the earlier document was not applied")
	}
	if marker, err := os.ReadFile(b.engine.Applied); err != nil || string(marker) != document("192.0.2.10") {
		t.Errorf("the marker is %q, %v", marker, err)
	}
	b.boots(t, hostapply.RolledBack, "192.0.2.10")

	b.request(t, request(document("192.0.2.11"), 1), hostapply.Applied, "192.0.2.11")
	b.boots(t, hostapply.Unchanged, "192.0.2.11")
}

func TestAnotherDocumentEndsTheRejection(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.run(t, hostapply.Applied, "192.0.2.10")
	b.give("master-0.yml", document("192.0.2.11"))
	b.Silent[gatewayText] = true
	b.request(t, request(document("192.0.2.11"), 0), hostapply.RolledBack, "192.0.2.10")
	delete(b.Silent, gatewayText)
	b.give("master-0.yml", document("192.0.2.12"))
	b.run(t, hostapply.Applied, "192.0.2.12")
	b.give("master-0.yml", document("192.0.2.11"))
	b.run(t, hostapply.Applied, "192.0.2.11")
}

// TestADeathDuringARequestCountsAsARollback: the document may be what took the machine down.
func TestADeathDuringARequestCountsAsARollback(t *testing.T) {
	for _, at := range []string{"apply", "restore"} {
		b := newBench(t)
		b.give("master-0.yml", document("192.0.2.10"))
		b.run(t, hostapply.Applied, "192.0.2.10")
		b.give("master-0.yml", document("192.0.2.11"))
		b.Silent[gatewayText] = at == "restore"
		b.Fail = func(call string) error {
			if call == at {
				panic("killed")
			}
			return nil
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = b.engine.Apply(t.Context(), request(document("192.0.2.11"), 3))
			t.Fatalf("the pass did not come to %s", at)
		}()
		b.Fail = nil
		delete(b.Silent, gatewayText)
		report := b.boots(t, hostapply.RolledBack, "192.0.2.10")
		if report.Attempt != 3 || !strings.Contains(report.Message, "died") {
			t.Errorf("killed in %s, the report is %+v", at, report)
		}
		b.request(t, request(document("192.0.2.11"), 3), hostapply.RolledBack, "192.0.2.10")
		b.request(t, request(document("192.0.2.11"), 4), hostapply.Applied, "192.0.2.11")
	}
}

func TestAHostThatHadNoDocumentReturnsToItsAutomaticConfiguration(t *testing.T) {
	b := newBench(t)
	b.engine.Automatic = func(livestate.State) (*nmstate.Document, error) {
		doc, problems := nmstate.Parse("", []byte(document("192.0.2.30")))
		return doc, problems.Err()
	}
	b.run(t, hostapply.Applied, "192.0.2.30")
	b.give("master-0.yml", document("192.0.2.11"))
	b.Fail = func(call string) error {
		if call == "commit" {
			return errors.New("no")
		}
		return nil
	}
	b.request(t, request(document("192.0.2.11"), 0), hostapply.RolledBack, "192.0.2.30")
	b.Fail = nil
	b.engine.Boot = "boot-2"
	b.boots(t, hostapply.RolledBack, "192.0.2.30")
	data, err := os.ReadFile(b.engine.Report)
	var report hostapply.Report
	if err != nil || json.Unmarshal(data, &report) != nil || report.Result != hostapply.RolledBack || report.Source.File != "master-0.yml" {
		t.Errorf("the published report is %s, %v", data, err)
	}
}
