package declared

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// text formats a value: its networks with their blocks, or its error.
func text(v Value) string {
	if v.Err != nil {
		return v.Err.Error()
	}
	var parts []string
	for _, p := range v.Pools {
		part := p.CIDR.String()
		if p.HostPrefix != 0 {
			part += " " + netip.PrefixFrom(p.CIDR.Addr(), int(p.HostPrefix)).String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestKubeadmDeclaresNetworks(t *testing.T) {
	const pods, services = KubeadmPods + ": ", KubeadmServices + ": "
	deep := strings.Repeat("[", 20000)
	for _, row := range []struct {
		why, text string
		// pods and services are the networks, or the beginning of the error.
		pods, services string
	}{
		{"an empty configuration", "", "", ""},
		{"no networking", "kind: ClusterConfiguration\n", "", ""},
		{"both", "networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}", "10.244.0.0/16 10.244.0.0/24", "10.96.0.0/12"},
		{"only Services, which kubeadm always has", "networking: {serviceSubnet: 10.96.0.0/12}", "", "10.96.0.0/12"},
		{"dual stack, with a space", "networking: {podSubnet: '10.244.0.0/16, fd00:1::/48', serviceSubnet: '10.96.0.0/16,fd00:2::/112'}",
			"10.244.0.0/16 10.244.0.0/24, fd00:1::/48 fd00:1::/64", "10.96.0.0/16, fd00:2::/112"},
		{"host bits, which the control plane ignores", "networking: {podSubnet: 10.244.7.1/16}", "10.244.0.0/16 10.244.0.0/24", ""},
		{"a length of blocks in a mapping, before v1beta4", "networking: {podSubnet: 10.244.0.0/16}\ncontrollerManager: {extraArgs: {node-cidr-mask-size: '26'}}", "10.244.0.0/16 10.244.0.0/26", ""},
		{"... in a list, of which the last counts", "networking: {podSubnet: 10.244.0.0/16}\ncontrollerManager: {extraArgs: [{name: node-cidr-mask-size, value: '26'}, {name: node-cidr-mask-size, value: '25'}]}",
			"10.244.0.0/16 10.244.0.0/25", ""},
		{"... for each family", "networking: {podSubnet: '10.244.0.0/16,fd00:1::/48'}\ncontrollerManager: {extraArgs: {node-cidr-mask-size-ipv4: '25', node-cidr-mask-size-ipv6: '60'}}",
			"10.244.0.0/16 10.244.0.0/25, fd00:1::/48 fd00:1::/60", ""},
		{"other arguments are ignored", "networking: {podSubnet: 10.244.0.0/16}\ncontrollerManager: {extraArgs: {v: '4'}}", "10.244.0.0/16 10.244.0.0/24", ""},
		{"a length that is no number", "networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}\ncontrollerManager: {extraArgs: {node-cidr-mask-size: big}}",
			pods + `--node-cidr-mask-size "big" is not the prefix length of a block of 10.244.0.0/16`, "10.96.0.0/12"},
		{"a length of IPv6 for IPv4", "networking: {podSubnet: 10.244.0.0/16}\ncontrollerManager: {extraArgs: {node-cidr-mask-size: '64'}}", pods + "--node-cidr-mask-size", ""},
		{"arguments that are text", "networking: {podSubnet: 10.244.0.0/16}\ncontrollerManager: {extraArgs: text}", pods + "cannot be read", services + "cannot be read"},
		{"no CIDR", "networking: {podSubnet: pods, serviceSubnet: 10.96.0.0}", pods + `"pods" is not a CIDR`, services + `"10.96.0.0" is not a CIDR`},
		{"an empty entry", "networking: {podSubnet: '10.244.0.0/16,'}", pods + `"" is not a CIDR`, ""},
		{"two networks of a family", "networking: {podSubnet: '10.244.0.0/16,10.245.0.0/16'}", pods + `"10.244.0.0/16,10.245.0.0/16" has more than one network`, ""},
		{"three networks", "networking: {podSubnet: '10.244.0.0/16,fd00::/48,10.245.0.0/16'}", pods + `"10.244.0.0/16,fd00::/48,10.245.0.0/16" has more`, ""},
		{"a number", "networking: {podSubnet: 10}", pods + `"10" is not a CIDR`, ""},
		{"no mapping", "[]", pods + "cannot be read", services + "cannot be read"},
		{"no YAML", "{", pods + "cannot be read", services + "cannot be read"},
		{"deep nesting", deep, pods + "cannot be read", services + "cannot be read"},
		{"long text in an error", "networking: {podSubnet: " + strings.Repeat("x", 9000) + "}", pods + `"xxx`, ""},
		{"more than any cluster has", strings.Repeat(" ", mostBytes+1), pods + "is longer than 256 KiB", services + "is longer than 256 KiB"},
	} {
		ofPods, ofServices := Kubeadm(row.text)
		for _, one := range []struct {
			got  Value
			want string
		}{{ofPods, row.pods}, {ofServices, row.services}} {
			got := text(one.got)
			if one.got.Err == nil && got != one.want || one.got.Err != nil && (one.want == "" || !strings.HasPrefix(got, one.want)) {
				t.Errorf("%s: %q, want %q", row.why, got, one.want)
			}
			if len(got) > 400 || strings.Contains(got, "\n") {
				t.Errorf("%s: a message of %d bytes: %.100q", row.why, len(got), got)
			}
		}
	}
}

func TestFlagsOfControllerManagersDeclareNetworks(t *testing.T) {
	command := func(pod string, arguments ...string) Command { return Command{Pod: pod, Arguments: arguments} }
	const source = "Pod kube-system/a, --cluster-cidr: "
	for _, row := range []struct {
		why      string
		commands []Command
		want     string
	}{
		{"no pods", nil, ""},
		{"without the flag", []Command{command("a", "kube-controller-manager", "--v=4")}, ""},
		{"with a value after =", []Command{command("a", "kube-controller-manager", "--cluster-cidr=10.244.0.0/16")}, "10.244.0.0/16 10.244.0.0/24"},
		{"with a value as the next argument", []Command{command("a", "--cluster-cidr", "10.244.0.0/16", "--node-cidr-mask-size", "25")}, "10.244.0.0/16 10.244.0.0/25"},
		{"the last flag counts", []Command{command("a", "--cluster-cidr=10.1.0.0/16", "--cluster-cidr=10.244.0.0/16")}, "10.244.0.0/16 10.244.0.0/24"},
		{"the flag without a value at the end", []Command{command("a", "--cluster-cidr")}, ""},
		{"dual stack", []Command{command("a", "--cluster-cidr=10.244.0.0/16,fd00::/48", "--node-cidr-mask-size-ipv6=60")}, "10.244.0.0/16 10.244.0.0/24, fd00::/48 fd00::/60"},
		{"three equal pods", []Command{command("a", "--cluster-cidr=10.244.0.0/16"), command("b", "--cluster-cidr=10.244.0.0/16"), command("c", "--v=2")}, "10.244.0.0/16 10.244.0.0/24"},
		{"pods that differ, as while a control plane is being changed", []Command{command("b", "--cluster-cidr=10.244.0.0/16"), command("a", "--cluster-cidr=10.1.0.0/16")}, source + "it differs from that of Pod b"},
		{"no CIDR", []Command{command("a", "--cluster-cidr=$(CIDR)")}, source + `"$(CIDR)" is not a CIDR`},
		{"more than any program has", []Command{command("a", strings.Repeat("x", mostBytes), "--cluster-cidr=10.244.0.0/16")}, source + "is longer than 256 KiB"},
	} {
		if got := text(Flags(row.commands)); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

// checkValue tests what holds for any source.
func checkValue(t *testing.T, v Value) {
	t.Helper()
	if v.Declares() && v.Source == "" || v.Err != nil && (len(v.Pools) > 0 || !strings.HasPrefix(v.Err.Error(), v.Source)) {
		t.Errorf("%+v", v)
	}
	if v.Err != nil && (len(v.Err.Error()) > 500 || strings.Contains(v.Err.Error(), "\n")) {
		t.Errorf("the message is long: %q", v.Err)
	}
	for _, p := range v.Pools {
		if p.CIDR != p.CIDR.Masked() || int(p.HostPrefix) > p.CIDR.Addr().BitLen() {
			t.Errorf("%+v", p)
		}
	}
}

func FuzzKubeadm(f *testing.F) {
	f.Add("networking: {podSubnet: '10.244.0.0/16,fd00::/48', serviceSubnet: 10.96.0.0/12}\ncontrollerManager: {extraArgs: [{name: node-cidr-mask-size, value: '26'}]}")
	f.Add("networking:\n  podSubnet: x\ncontrollerManager:\n  extraArgs: {node-cidr-mask-size: '-1'}")
	f.Fuzz(func(t *testing.T, source string) {
		pods, services := Kubeadm(source)
		checkValue(t, pods)
		checkValue(t, services)
	})
}

func FuzzFlags(f *testing.F) {
	f.Add("--cluster-cidr=10.244.0.0/16 --node-cidr-mask-size 24", "--cluster-cidr 10.244.0.0/16")
	f.Fuzz(func(t *testing.T, first, second string) {
		a, b := Command{Pod: "a", Arguments: strings.Split(first, " ")}, Command{Pod: "b", Arguments: strings.Split(second, " ")}
		v := Flags([]Command{a, b})
		checkValue(t, v)
		if again := Flags([]Command{a, b, a, b}); v.Err == nil && !cmp.Equal(v, again, cmpopts.EquateComparable(netip.Prefix{})) {
			t.Errorf("%+v, and with each pod twice %+v", v, again)
		}
	})
}
