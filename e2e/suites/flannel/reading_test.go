package flannel

import (
	"strings"
	"testing"
)

func TestTheObjectIsReadableWithKubectl(t *testing.T) {
	for _, row := range []struct {
		args []string
		want []string
	}{
		{[]string{"get", "network.operator", "cluster"}, []string{
			"NAME TYPE PODS SERVICES AVAILABLE PROGRESSING DEGRADED AGE", "cluster Flannel 10.244.0.0/16 10.96.0.0/16 True False False"}},
		{[]string{"get", "netop"}, []string{"cluster"}},
		{[]string{"get", "cno"}, []string{"network.operator.openshift.io/cluster"}},
		{[]string{"explain", "networks.operator.openshift.io.spec.defaultNetwork.flannelConfig"}, []string{
			"backend <string>", "host-gw (the default) or vxlan", "Change class: rolling, once acknowledged", "etcd <Object>"}},
		{[]string{"explain", "netconf.spec.clusterNetworks"}, []string{"hostSubnetLength <integer> -required-", "host bits"}},
	} {
		out, err := lab.Kubectl(t.Context(), row.args...)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("kubectl %s does not print %q:\n%s", strings.Join(row.args, " "), want, out)
			}
		}
	}
}
