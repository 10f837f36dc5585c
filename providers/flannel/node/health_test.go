package node

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/agent"
)

func TestReportOmitsErrorsThatPreventItsDelivery(t *testing.T) {
	var v view
	for about, text := range map[agent.Topic]string{topicRoutes: "b", topicLease: "a", topicEtcd: "away", topicMembers: "silent"} {
		v.Problems, _ = v.Problems.Set(about, errors.New(text))
	}
	if diff := cmp.Diff([]string{"a", "b"}, report(v).Errors); diff != "" {
		t.Errorf("the report, which goes through etcd, has (-want +got):\n%s", diff)
	}
}
