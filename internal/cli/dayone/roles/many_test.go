package roles

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// manyHosts is an object with a static address for each of its hosts.
func manyHosts(hosts int) string {
	var text strings.Builder
	fmt.Fprintf(&text, object, "  phases: [PreBoot, FirstBoot]\n  bridge: {uplink: {interface: eno1}, ipv4: {method: Static, address: '${ip}', gateway: 10.0.0.1}, dnsServers: [10.0.0.2]}\n  hosts:")
	for i := range hosts {
		fmt.Fprintf(&text, "  - {name: w%d, values: {ip: 10.0.%d.%d/16}}\n", i, i/250+1, i%250+1)
	}
	return text.String()
}

// validateText reads and validates one object that is valid.
func validateText(t testing.TB, text string) {
	t.Helper()
	found, err := (&Reader{Stdin: strings.NewReader(text)}).Read([]string{"-"})
	if err != nil {
		t.Fatal(err)
	}
	if problems := Validate(found, validation.Surroundings{}); len(problems) > 0 || len(found.PreBoot) == 0 {
		t.Fatal(problems)
	}
}

// The work for a host does not grow with the number of hosts. Allocations are counted, since they are the same on every machine.
func TestTheWorkForAHostDoesNotDependOnTheOthers(t *testing.T) {
	validateText(t, manyHosts(1)) // initializes what a process reads once
	cost := func(hosts int) float64 {
		text := manyHosts(hosts)
		return testing.AllocsPerRun(1, func() { validateText(t, text) })
	}
	few, many := cost(25), cost(200)
	if ratio := many / few; ratio > 10 {
		t.Errorf("200 hosts need %.0f allocations and 25 need %.0f, which is %.1f times as many for 8 times as many hosts", many, few, ratio)
	}
}

func BenchmarkValidate500Hosts(b *testing.B) {
	text := manyHosts(500)
	for b.Loop() {
		validateText(b, text)
	}
}
