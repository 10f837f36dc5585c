package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
)

func TestSettingsRoundTripThroughJSON(t *testing.T) {
	for _, etcd := range []etcdcluster.Settings{
		{Managed: &etcdcluster.Managed{ClientPort: 12379, PeerPort: 12380, Image: "etcd"}}, {External: &etcdcluster.External{Endpoints: []string{"http://b", "http://a"}}},
	} {
		s := Settings{Settings: etcd, Migration: &mtumigration.Change{From: 1500, To: 1400}}
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSettings(text)
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Errorf("error %v, difference:\n%s", err, diff)
		}
	}
}

func TestUnusableSettingsAreRefused(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"managed":{},"external":{}}`} {
		if _, err := DecodeSettings(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
