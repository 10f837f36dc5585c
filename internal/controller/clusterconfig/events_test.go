package clusterconfig

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// TestEachChangeAndErrorOfTheConfigurationIsAnEvent: they follow one another within the minutes in which the recorder takes events for repetitions.
func TestEachChangeAndErrorOfTheConfigurationIsAnEvent(t *testing.T) {
	c := newCluster(t)
	c.Controller.Events = c.Recorder(t, Name)
	c.config(good())
	c.reconcile()
	c.edit(services("172.31.0.0/16"))
	c.reconcile()
	c.AwaitNotes(t, c.getConfig(), eventFollowed, followedMessage([]string{"spec.clusterNetwork", "spec.serviceNetwork", "spec.defaultNetwork.type"}), followedMessage([]string{"spec.serviceNetwork"}))

	long := strings.Repeat("ü", 1000)
	for _, text := range []string{"one pool is invalid", "two pools are invalid", long} {
		c.recordProblem(c.getConfig(), problem{reasonInvalid, text})
	}
	c.AwaitNotes(t, c.getConfig(), reasonInvalid, "one pool is invalid", "two pools are invalid", phrase.Note(long))
}
