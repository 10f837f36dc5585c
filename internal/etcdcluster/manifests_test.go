package etcdcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMemberPodsDoNotRestartWhileTheClusterGrows holds the promise that a member's configuration may change without
// its pod starting again, which with three members at once would stop them all.
func TestMemberPodsDoNotRestartWhileTheClusterGrows(t *testing.T) {
	m := Bootstrap(nodes(3), managed, "token")
	template := func(m Membership) any {
		objects, err := cluster.Objects(m, "/data")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.Key().Kind == "Deployment" && o.Key().Name == cluster.MemberDeployment("a") {
				return o.Object.Object
			}
		}
		t.Fatal("no Deployment for the founder")
		return nil
	}
	alone := template(m)
	m.Members[0].State, m.Members[0].ID = Existing, "8e9e05c52164694d"
	m.Members[1].State, m.Members[1].InitialCluster = Learner, "a=b,c=d"
	if diff := cmp.Diff(alone, template(m)); diff != "" {
		t.Errorf("the founder's Deployment changed when a second member joined:\n%s", diff)
	}
	m.Members[0].Trust = "0123456789abcdef"
	if cmp.Equal(alone, template(m)) {
		t.Error("a new CA does not restart the member, though etcd reads it only once")
	}
}
