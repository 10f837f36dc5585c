package pki

import (
	"testing"
	"time"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

func TestDurationsStayInTheirRange(t *testing.T) {
	for text, want := range map[networkv1.Duration]time.Duration{
		"":          day,
		"0s":        day,
		"24":        day,
		"1s":        10 * time.Second,
		"00000001s": 10 * time.Second,
		"20s":       20 * time.Second,
		"90m":       90 * time.Minute,
		"262800h":   262800 * time.Hour,
		"300000h":   262800 * time.Hour,
		"99999999h": day, // more than a duration holds
	} {
		if got := duration(text, day); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestCAOutlivesItsCertificates: also one of an OperatorPKI that is older than the floor of its durations.
func TestCAOutlivesItsCertificates(t *testing.T) {
	pki := &networkv1.OperatorPKI{Spec: networkv1.OperatorPKISpec{Rotation: &networkv1.RotationSpec{
		AuthorityRefresh: "1s", Overlap: "1s", CertificateValidity: "1s", AuthorityValidity: "3s"}}}
	if p := policyOf(pki); p.CALife < p.CARefresh+p.Overlap+p.LeafLife {
		t.Errorf("a CA is valid for %s, and must sign until %s for another %s", p.CALife, p.CARefresh+p.Overlap, p.LeafLife)
	}
}
