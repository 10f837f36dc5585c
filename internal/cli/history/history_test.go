package history

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/answer"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/foresee"
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
	records := foresee.Records{History: applied.History{
		revision(1, "Normal", ""), revision(2, "Normal", "f:v1"), revision(3, "Normal", "f:v2"), revision(4, "Debug", "f:v3"),
	}}
	var out bytes.Buffer
	if err := list(&out, records, answer.Text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range map[int]string{1: "logLevel, FLANNEL_IMAGE", 2: " FLANNEL_IMAGE", 3: " -", 4: " -"} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d is %q, want %q at its end", i, lines[i], want)
		}
	}
}
