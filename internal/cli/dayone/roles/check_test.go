package roles

import (
	"fmt"
	"strings"
	"testing"
)

const object = `# for workers
---
apiVersion: network.operator.openshift.io/v1
kind: HostNetworkConfig
metadata: {name: w}
spec:
  role: worker
%s
`

func read(t *testing.T, text string) string {
	t.Helper()
	found, err := (&Reader{Stdin: strings.NewReader(text)}).Read([]string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range found.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestAnObjectIsCheckedAgainstItsCRDWithLineAndPath(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"  phases: [Preboot]\n  bridge: {uplink: {interface: eno1}}", `-:8: spec.phases[0]: Unsupported value: "Preboot"`},
		{"  bridge:\n    uplink: {interface: eno1}\n    mtu: 70000", `-:10: spec.bridge.mtu: Invalid value: 70000`},
		{"  bridge:\n    uplink: {interface: eno1, auto: DefaultRoute}", `-:9: spec.bridge.uplink`},
		{"  bridge:\n    uplink: {interface: eno1}\n    ipv4: {method: dhcp}", `spec.bridge.ipv4.method: Unsupported value: "dhcp"`},
		{"  hosts:\n  - {name: w0, strategy: merge, desiredState: {}}", `spec.hosts[0].strategy: Unsupported value: "merge"`},
		{"  hosts:\n  - name: w0\n    value: {a: b}", `-:10: spec.hosts[0].value: Forbidden: there is no such field; did you mean values?`},
		{"  roll: x", `spec.roll: Forbidden: there is no such field; did you mean role?`},
	} {
		if got := read(t, fmt.Sprintf(object, c.spec)); !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.spec, got, c.want)
		}
	}
	if got := read(t, fmt.Sprintf(object, "  bridge: {uplink: {interface: eno1}}")); got != "" {
		t.Errorf("a valid object has %q", got)
	}
}
