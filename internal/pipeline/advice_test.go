package pipeline

import (
	"strings"
	"testing"
)

func TestPoolsOfPublicAddressesAreMentionedOnce(t *testing.T) {
	private := spec()
	if res := mustRun(t, Input{Desired: private}, Validate); len(res.Advice) > 0 {
		t.Errorf("private pools: %v", res.Advice)
	}
	public := spec()
	public.ServiceNetwork = []string{"11.0.0.0/16"}
	res := mustRun(t, Input{Desired: public}, Validate)
	if text := res.Advice.Error(); len(res.Advice) != 1 || res.Advice[0].Field != "spec.serviceNetwork[0]" || !strings.Contains(text, "11.0.0.0/16 are public addresses") {
		t.Errorf("public Services: %v", text)
	}
	if res := mustRun(t, Input{Desired: public, Applied: public}, Validate); len(res.Advice) > 0 {
		t.Errorf("pools that are applied: %v", res.Advice)
	}
}
