package dayone

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// request requests that the host applies a document of testdata, as host-network-sync does.
func (s *scene) request(name string, attempt int) (string, error) {
	s.t.Helper()
	s.Write("/run/host-network/apply/request.json",
		fmt.Sprintf(`{"file":"master-0.yml","sha256":"%x","attempt":%d}`, sha256.Sum256([]byte(document(s.t, name))), attempt), 0o644)
	return s.Try("/usr/local/bin/host-network", append([]string{"apply"}, arguments()[1:]...)...)
}

// TestRequestChangesARunningHost; a request that does not work is rolled back and not retried, neither at once nor at the next boot.
func TestRequestChangesARunningHost(t *testing.T) {
	s := newScene(t, "install-config.yml")
	s.give("machine-config.yml")
	s.apply("applied")
	s.inBrEx()

	s.give("other-address.yml")
	if out, err := s.request("machine-config.yml", 0); err == nil || !strings.Contains(out, "the requested document has the digest") {
		t.Errorf("a request for another document: %v\n%s", err, out)
	}
	s.inBrEx()
	if out, err := s.request("other-address.yml", 0); err != nil || !strings.Contains(out, "applied master-0.yml") {
		t.Fatalf("%v\n%s", err, out)
	}
	s.has(card, "192.168.111.120/24")
	s.reaches()

	marker := s.applied()
	s.give("wrong-gateway.yml")
	if out, err := s.request("wrong-gateway.yml", 0); err == nil || !strings.Contains(out, "rolled back to the network as it was") {
		t.Fatalf("%v\n%s", err, out)
	}
	s.has(card, "192.168.111.120/24")
	s.reaches()
	if out, err := s.request("wrong-gateway.yml", 0); err == nil || strings.Contains(out, "msg=applying") || !strings.Contains(out, "is not applied again before it changes") {
		t.Errorf("the same request again: %v\n%s", err, out)
	}
	s.reboot()
	out := s.Run("/usr/local/bin/host-network", arguments()...)
	if !strings.Contains(out, "rolled-back master-0.yml") || strings.Contains(out, "msg=applying") {
		t.Errorf("at the next boot:\n%s", out)
	}
	s.has(card, "192.168.111.120/24")
	s.reaches()
	if after := s.applied(); after != marker {
		t.Errorf("the marker is\n%s", after)
	}
	if out, err := s.request("wrong-gateway.yml", 1); err == nil || !strings.Contains(out, "msg=applying") {
		t.Errorf("with another attempt the document is not tried: %v\n%s", err, out)
	}
	s.has(card, "192.168.111.120/24")
}
