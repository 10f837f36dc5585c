package controller

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// TestOnlyWhatAnEtcdNeedsIsWatched: where no etcd needs Secrets or requests for certificates, they are not read.
func TestOnlyWhatAnEtcdNeedsIsWatched(t *testing.T) {
	for name, row := range map[string]struct {
		settings          etcdcluster.Settings
		secrets, requests int
	}{
		"none":                {},
		"a third party's":     {settings: etcdcluster.Settings{External: &etcdcluster.External{Endpoints: []string{"http://192.0.2.1:2379"}}}},
		"a third party's TLS": {etcdcluster.Settings{External: &etcdcluster.External{CAConfigMap: "ca"}}, 1, 0},
		"managed":             {etcdcluster.Settings{Managed: &etcdcluster.Managed{}}, 1, 1},
	} {
		var secrets, requests int
		c := &Controller{
			watchSecrets:  func() error { secrets++; return nil },
			watchRequests: func() error { requests++; return nil },
		}
		if err := c.startWatches(row.settings); err != nil || secrets != row.secrets || requests != row.requests {
			t.Errorf("%s: Secrets are watched %d times, requests %d times, error %v", name, secrets, requests, err)
		}
	}
}
