package hostnetworkconfig

import (
	"testing"
)

// TestSyncAgentsMayWriteOnTheHost: SELinux keeps an ordinary container from the directories of the host, read or write.
func TestSyncAgentsMayWriteOnTheHost(t *testing.T) {
	d, err := (&Controller{Image: "host-network:v1"}).agentDaemonSet("worker", []string{"files-worker-0"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	writable := 0
	for _, m := range pod.Containers[0].VolumeMounts {
		if !m.ReadOnly {
			writable++
		}
	}
	if writable == 0 {
		t.Error("a sync agent that copies files mounts nothing that it can write to")
	}
	if s := pod.SecurityContext.SELinuxOptions; s == nil || s.Type != "spc_t" {
		t.Errorf("SELinux options are %v, want the type spc_t", s)
	}
}
