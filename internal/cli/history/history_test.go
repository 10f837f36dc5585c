package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestAChangeOfImagesIsShown(t *testing.T) {
	revision := func(number int, level, flannel string) applied.Revision {
		spec := `{"clusterNetwork":[{"cidr":"10.244.0.0/16","hostPrefix":24}],"serviceNetwork":["10.96.0.0/16"],"defaultNetwork":{"type":"Flannel"},"logLevel":"` + level + `"}`
		r := applied.Revision{Number: number, Spec: json.RawMessage(spec), OperatorVersion: "v1", Time: time.Unix(0, 0).UTC(), Outcome: applied.OutcomeHealthy}
		if flannel != "" {
			r.Images = map[string]string{"FLANNEL_IMAGE": flannel, "ETCD_IMAGE": "e:v1"}
		}
		return r
	}
	records := preview.Records{History: applied.History{
		revision(1, "Normal", ""), revision(2, "Normal", "f:v1"), revision(3, "Normal", "f:v2"), revision(4, "Debug", "f:v3"),
	}}
	all, err := entries(records, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := list(&out, all, output.Text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range map[int]string{1: "logLevel, FLANNEL_IMAGE", 2: " FLANNEL_IMAGE", 3: " -", 4: " -"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}

func TestARolloutThatHasStoppedIsShown(t *testing.T) {
	spec := json.RawMessage(`{"defaultNetwork":{"type":"Flannel"}}`)
	hung := osv1.OperatorCondition{Type: "FlannelDegraded", Status: osv1.ConditionTrue, Reason: status.RolloutHung, Message: "pod flanneld-x waits for its image"}
	for _, tt := range []struct {
		why       string
		outcome   applied.Outcome
		condition osv1.OperatorCondition
		want      []string
	}{
		{"it has stopped", applied.OutcomeApplied, hung, []string{"2 applied, stalled", "1 healthy"}},
		{"it is under way", applied.OutcomeApplied, osv1.OperatorCondition{Type: "FlannelDegraded", Status: osv1.ConditionFalse, Reason: status.AsExpected}, []string{"2 applied", "1 healthy"}},
		{"it was seen to work, and what has stopped is another one", applied.OutcomeHealthy, hung, []string{"2 healthy", "1 healthy"}},
	} {
		records := preview.Records{
			Record:  applied.Record{State: applied.StateApplied, Number: 2},
			History: applied.History{{Number: 1, Spec: spec, Outcome: applied.OutcomeHealthy}, {Number: 2, Spec: spec, Outcome: tt.outcome}},
		}
		all, err := entries(records, []osv1.OperatorCondition{tt.condition})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprint(e.Number, " ", e.OutcomeText()))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
	}
}
