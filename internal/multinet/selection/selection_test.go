package selection

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	addr := netip.MustParseAddr
	opts := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	for name, c := range map[string]struct {
		annotation string
		want       []Selection
	}{
		"no annotation":                    {},
		"blank":                            {annotation: " \n"},
		"empty list":                       {annotation: "[]"},
		"null is a name in the short form": {"null", []Selection{{Namespace: "mine", Name: "null", Interface: "net1"}}},
		"short form, the same network twice": {"a, ns/a@data,a", []Selection{
			{Namespace: "mine", Name: "a", Interface: "net1"}, {Namespace: "ns", Name: "a", Interface: "data"}, {Namespace: "mine", Name: "a", Interface: "net3"}}},
		"every key": {`[{"name":"a","namespace":"ns","interface":"data","ips":["192.0.2.5/24","2001:db8::5"],"mac":"02:00:00:00:00:01",
			"infiniband-guid":"02:00:00:00:00:00:00:01","cni-args":{"x":{"y":1}},"default-route":["192.0.2.1"],
			"portMappings":[{"hostPort":8080,"containerPort":80},{"hostPort":53,"containerPort":53,"protocol":"Udp"}],
			"bandwidth":{"ingressRate":1000,"ingressBurst":2000}}]`, []Selection{{
			Namespace: "ns", Name: "a", Interface: "data", IPs: []string{"192.0.2.5/24", "2001:db8::5"}, MAC: "02:00:00:00:00:01",
			InfinibandGUID: "02:00:00:00:00:00:00:01", CNIArgs: map[string]any{"x": map[string]any{"y": json.Number("1")}},
			DefaultRoute: true, Gateways: []netip.Addr{addr("192.0.2.1")},
			PortMappings: []PortMapping{{8080, 80, "tcp"}, {53, 53, "udp"}},
			Bandwidth:    &Bandwidth{IngressRate: 1000, IngressBurst: 2000}}}},
		"an extension, a claim and an empty default route": {`[{"name":"a","example.com/key":null,"ipam-claim-reference":"c","default-route":[]}]`,
			[]Selection{{Namespace: "mine", Name: "a", Interface: "net1", IPAMClaim: "c", DefaultRoute: true}}},
		"the default routes of two IP families on two networks": {`[{"name":"a","default-route":["192.0.2.1"]},{"name":"b","default-route":["2001:db8::1"]}]`,
			[]Selection{{Namespace: "mine", Name: "a", Interface: "net1", DefaultRoute: true, Gateways: []netip.Addr{addr("192.0.2.1")}},
				{Namespace: "mine", Name: "b", Interface: "net2", DefaultRoute: true, Gateways: []netip.Addr{addr("2001:db8::1")}}}},
	} {
		got, errs := Parse(c.annotation, "mine")
		if diff := cmp.Diff(c.want, got, opts); diff != "" || len(errs) > 0 {
			t.Errorf("%s: %v\n%s", name, errs, diff)
		}
	}
}

// Each value is refused with the key that it belongs to, and alone.
func TestParseRefuses(t *testing.T) {
	in := func(members string) string { return `[{"name":"a",` + members + `}]` }
	for annotation, want := range map[string]string{
		"a,,b":                                  `[1].name: Required value`,
		"A":                                     `[0].name: Invalid value: "A"`,
		"a.b":                                   `[0].name: Invalid value: "a.b"`,
		"/a":                                    `[0].namespace: Required value`,
		"n/a/b":                                 `[0].name: Invalid value: "a/b"`,
		"a@":                                    `[0].interface: Invalid value: ""`,
		"a@net%d":                               `[0].interface: Invalid value: "net%d"`,
		"a@x@y":                                 `[0].interface: Invalid value: "x@y"`,
		"a@x\ry":                                `[0].interface: Invalid value: "x\ry"`,
		"a@eth0":                                `[0].interface: Invalid value: "eth0": is an interface that every pod has`,
		"a@net2,b":                              `[1].interface: Invalid value: "net2": is also the interface of the network at index 0`,
		"a@x,b@x":                               `[1].interface: Invalid value: "x": is also`,
		"a@x,b@a/":                              `[1].interface: Invalid value: "a/"`,
		`{"name":1}`:                            `is not a list`,
		`"a"`:                                   `is not a list`,
		`[{"name"]`:                             `is not valid JSON: invalid character ']' after object key, at 1:9`,
		`[null]`:                                `[0]: Forbidden: is null; must be an object`,
		`["a"]`:                                 `[0]: Forbidden: is a string; must be an object`,
		`[{}]`:                                  `[0].name: Required value`,
		strings.Repeat("a,", MaxNetworks) + "a": `asks for 33 networks; at most 32 are allowed`,
		"[" + strings.Repeat(`{"name":"a"},`, 32) + `{"name":"a"}]`:               `asks for 33 networks`,
		strings.Repeat("a", MaxSize+1):                                            `has 65537 bytes; at most 65536`,
		`[{"Name":"a","name":"a"}]`:                                               `[0]: Invalid value: "Name": is not a key; did you mean name?`,
		`[{"name":"a","n\u0061me":"b"}]`:                                          `[0].name: Duplicate value`,
		in(`"hostIP":"1"`):                                                        `[0]: Invalid value: "hostIP": is not a key; must be one of bandwidth, cni-args,`,
		in(`"namespace":null`):                                                    `[0].namespace: Forbidden: is null; must be a string`,
		in(`"interface":"lo"`):                                                    `[0].interface: Invalid value: "lo"`,
		in(`"interface":"sixteen-letters-"`):                                      `[0].interface: Invalid value`,
		in(`"ips":[]`):                                                            `[0].ips: Required value`,
		in(`"ips":"192.0.2.5"`):                                                   `[0].ips: Forbidden: is a string; must be a list`,
		in(`"ips":["192.0.2.5/33"]`):                                              `[0].ips[0]: Invalid value`,
		in(`"ips":["fe80::1%eth0"]`):                                              `[0].ips[0]: Invalid value`,
		in(`"ips":["::ffff:192.0.2.5"]`):                                          `[0].ips[0]: Invalid value`,
		in(`"ips":["0.0.0.0"]`):                                                   `[0].ips[0]: Invalid value`,
		in(`"ips":["127.0.0.1/8"]`):                                               `[0].ips[0]: Invalid value`,
		in(`"ips":["192.0.2.5/24","192.0.2.5"]`):                                  `[0].ips[1]: Invalid value: "192.0.2.5": is a repeated address`,
		in(`"mac":"02:00:00:00:00"`):                                              `[0].mac: Invalid value`,
		in(`"mac":"02:00:00:00:00:00:00:01"`):                                     `[0].mac: Invalid value`,
		in(`"mac":"01:00:00:00:00:01"`):                                           `[0].mac: Invalid value: "01:00:00:00:00:01": is a multicast address`,
		in(`"mac":"00:00:00:00:00:00"`):                                           `[0].mac: Invalid value`,
		in(`"mac":2`):                                                             `[0].mac: Forbidden: is a number`,
		in(`"infiniband-guid":"02:00:00:00:00:01"`):                               `[0].infiniband-guid: Invalid value`,
		in(`"cni-args":[]`):                                                       `[0].cni-args: Forbidden: is a list; must be an object`,
		in(`"cni-args":{"a":1,"a":2}`):                                            `[0].cni-args.a: Duplicate value`,
		in(`"default-route":"192.0.2.1"`):                                         `[0].default-route: Forbidden`,
		in(`"default-route":["192.0.2.1/24"]`):                                    `[0].default-route[0]: Invalid value`,
		in(`"ips":["192.0.2.5"],"ipam-claim-reference":"c"`):                      `[0].ipam-claim-reference: Forbidden: cannot be used together with ips`,
		in(`"ipam-claim-reference":""`):                                           `[0].ipam-claim-reference: Invalid value`,
		in(`"portMappings":[{"hostPort":0,"containerPort":1}]`):                   `[0].portMappings[0].hostPort: Invalid value: "0"`,
		in(`"portMappings":[{"hostPort":1,"containerPort":65536}]`):               `[0].portMappings[0].containerPort: Invalid value`,
		in(`"portMappings":[{"hostPort":1.5,"containerPort":1}]`):                 `[0].portMappings[0].hostPort: Invalid value: "1.5"`,
		in(`"portMappings":[{"hostPort":"1","containerPort":1}]`):                 `[0].portMappings[0].hostPort: Forbidden: is a string`,
		in(`"portMappings":[{"hostPort":1}]`):                                     `[0].portMappings[0].containerPort: Required value`,
		in(`"portMappings":[{"hostPort":1,"containerPort":1,"protocol":"ICMP"}]`): `[0].portMappings[0].protocol: Invalid value`,
		in(`"portMappings":[{"hostport":1,"hostPort":1,"containerPort":1}]`):      `[0].portMappings[0]: Invalid value: "hostport": is not a key; did you mean hostPort?`,
		in(`"bandwidth":{"ingressBurst":1}`):                                      `[0].bandwidth.ingressRate: Required value`,
		in(`"bandwidth":{"egressRate":0}`):                                        `[0].bandwidth.egressRate: Invalid value: "0"`,
		in(`"bandwidth":{}`):                                                      `[0].bandwidth: Required value`,
		in(`"portMappings":[]`):                                                   `[0].portMappings: Required value`,
		in(`"bandwidth":{"egressRate":-1}`):                                       `[0].bandwidth.egressRate: Invalid value`,
		`[{"name":"a","default-route":["192.0.2.1"]},{"name":"b","default-route":["192.0.2.2"]}]`: `[1].default-route: Invalid value: "192.0.2.2": the network at index 0 has the default route`,
	} {
		got, errs := Parse(annotation, "mine")
		if got != nil || len(errs) == 0 {
			t.Errorf("%.60q is accepted: %v", annotation, got)
			continue
		}
		if text := errs[len(errs)-1].Error(); !strings.Contains(text, want) || errs[0].Origin != Rule {
			t.Errorf("%.60q: %v (%s); want %s", annotation, errs, errs[0].Origin, want)
		}
	}
}

func TestParseDefault(t *testing.T) {
	const namespace = "openshift-multus"
	for annotation, want := range map[string]*Selection{
		"":               nil,
		" ":              nil,
		"a":              {Namespace: namespace, Name: "a"},
		namespace + "/a": {Namespace: namespace, Name: "a"},
		`[{"name":"a","ips":["192.0.2.5/24"],"mac":"02:00:00:00:00:01","infiniband-guid":"02:00:00:00:00:00:00:01","cni-args":{"x":"y"}}]`: {
			Namespace: namespace, Name: "a", IPs: []string{"192.0.2.5/24"}, MAC: "02:00:00:00:00:01", InfinibandGUID: "02:00:00:00:00:00:00:01", CNIArgs: map[string]any{"x": "y"}},
		`[{"name":"a","ipam-claim-reference":"c"}]`: {Namespace: namespace, Name: "a", IPAMClaim: "c"},
	} {
		got, errs := ParseDefault(annotation, namespace)
		if diff := cmp.Diff(want, got); diff != "" || len(errs) > 0 {
			t.Errorf("%q: %v\n%s", annotation, errs, diff)
		}
	}
	for annotation, want := range map[string]string{
		"A":                                 `[0].name: Invalid value`,
		"a,b":                               `: Invalid value: "a,b": must be the name of one NetworkAttachmentDefinition in namespace openshift-multus`,
		"[]":                                `: Invalid value: "[]": must be the name of one`,
		"ns/a":                              `[0].namespace: Forbidden: definitions for the default network are only taken from namespace openshift-multus`,
		"a@data":                            `[0].interface: Forbidden: the container runtime names the interface`,
		"a@net1":                            `[0].interface: Forbidden: the container runtime names the interface`,
		`[{"name":"a","interface":"net1"}]`: `[0].interface: Forbidden`,
		`[{"name":"a","default-route":[]}]`: `[0].default-route: Forbidden: the default network has the default routes unless`,
		`[{"name":"a","default-route":["2001:db8::1"]}]`:                   `[0].default-route: Forbidden`,
		`[{"name":"a","portMappings":[{"hostPort":1,"containerPort":1}]}]`: `[0].portMappings: Forbidden: the default network has the host ports`,
		`[{"name":"a","bandwidth":{"ingressRate":1}}]`:                     `[0].bandwidth: Forbidden: the annotations kubernetes.io/ingress-bandwidth`,
	} {
		got, errs := ParseDefault(annotation, namespace)
		want = "metadata.annotations[v1.multus-cni.io/default-network]" + want
		if got != nil || len(errs) != 1 || !strings.Contains(errs[0].Error(), want) || errs[0].Origin != Rule {
			t.Errorf("%q: %+v %v; want %s", annotation, got, errs, want)
		}
	}
}

func TestParseReturnsAllErrorsAtOnce(t *testing.T) {
	_, errs := Parse(`[{"name":"A","mac":"x","ips":["y"]},{"interface":"eth0","bandwidth":{"rate":1}}]`, "mine")
	var got []string
	prefix := fmt.Sprintf("metadata.annotations[%s]", Annotation)
	for _, e := range errs {
		got = append(got, strings.TrimPrefix(e.Field, prefix))
	}
	if diff := cmp.Diff([]string{"[0].name", "[0].mac", "[0].ips[0]", "[1].interface", "[1].bandwidth", "[1].name"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsShowLongValuesShortened(t *testing.T) {
	for _, key := range []string{"name", "interface", "mac", "infiniband-guid", "ipam-claim-reference", "unknown"} {
		_, errs := Parse(fmt.Sprintf(`[{%q:%q}]`, key, strings.Repeat("é", 20000)), "mine")
		_, named := Parse(fmt.Sprintf(`[{"name":"a",%q:1}]`, strings.Repeat("é", 20000)), "mine")
		if size := len(errs.ToAggregate().Error()); size > 2000 {
			t.Errorf("%s: an error of %d bytes", key, size)
		}
		if size := len(named.ToAggregate().Error()); size > 2000 {
			t.Errorf("unknown key: an error of %d bytes", size)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a,ns/b@c")
	f.Add(`[{"name":"a","ips":["192.0.2.5/24"],"portMappings":[{"hostPort":1,"containerPort":2}]}]`)
	f.Add(`[{"name":"a","default-route":["::1"],"bandwidth":{"ingressRate":1}}]`)
	f.Fuzz(func(t *testing.T, annotation string) {
		got, errs := Parse(annotation, "mine")
		interfaces := map[string]bool{}
		for _, s := range got {
			if s.Name == "" || s.Namespace == "" || s.Interface == "" || interfaces[s.Interface] {
				t.Errorf("%q gives %+v", annotation, got)
			}
			interfaces[s.Interface] = true
		}
		if len(errs) > 0 && got != nil {
			t.Errorf("%q gives networks and errors", annotation)
		}
	})
}
