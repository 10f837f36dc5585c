package dhcp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadConfig(t *testing.T) {
	defaults := []uint8{121, 1, 3, 33, 6, 15, 119}
	none := map[uint8]string{}
	args := map[string]string{"K8S_POD_NAME": "web-0", "EMPTY": ""}
	for _, tt := range []struct {
		reason, text string
		want         Config
		errs         []string
	}{
		{"the shortest", `{"type":"macvlan","ipam":{"type":"dhcp"}}`, Config{Provide: none, Request: defaults}, nil},
		{"containernetworking's default socket has no effect", `{"ipam":{"type":"dhcp","daemonSocketPath":"/run/cni/dhcp.sock","priority":300}}`,
			Config{Provide: none, Request: defaults, Priority: 300}, nil},
		{"the example of containernetworking's documentation", `{"ipam":{"type":"dhcp",
			"request":[{"skipDefault":false}],
			"provide":[{"option":"host-name","fromArg":"K8S_POD_NAME"},{"option":"60","value":"printer"}]}}`,
			Config{Provide: map[uint8]string{12: "web-0", 60: "printer"}, Request: defaults}, nil},
		{"an argument that is not passed leaves the value, and nothing without one", `{"ipam":{"type":"dhcp",
			"provide":[{"option":"host-name","fromArg":"K8S_NODE","value":"fallback"},{"option":"user-class","fromArg":"K8S_NODE"}]}}`,
			Config{Provide: map[uint8]string{12: "fallback"}, Request: defaults}, nil},
		{"an empty argument is no option", `{"ipam":{"type":"dhcp","provide":[{"option":"12","fromArg":"EMPTY"}]}}`, Config{Provide: none, Request: defaults}, nil},
		{"the identifier of the client", `{"ipam":{"type":"dhcp","provide":[{"option":"dhcp-client-identifier","fromArg":"K8S_POD_NAME"}]}}`,
			Config{ClientID: []byte("web-0"), Provide: none, Request: defaults}, nil},
		{"only what is named", `{"ipam":{"type":"dhcp","request":[{"skipDefault":true},{"option":"routers"},{"option":"subnet-mask"},{"option":"121"},{"option":"3"}]}}`,
			Config{Provide: none, Request: []uint8{121, 3, 1}}, nil},

		{"no ipam", `{"type":"macvlan"}`, Config{}, []string{`ipam: Required value: must be an object with "type": "dhcp"`}},
		{"no object", `[]`, Config{}, []string{"config: Forbidden: is a list; must be an object"}},
		{"another spelling, which Go's decoder reads as ipam", `{"ipam":{"type":"dhcp"},"IPAM":{"type":"static"}}`, Config{},
			[]string{`IPAM: Invalid value: "IPAM": is read as ipam by some plugins; write ipam`}},
		{"another spelling inside", `{"ipam":{"type":"dhcp","Priority":3}}`, Config{}, []string{`ipam: Invalid value: "Priority": is not a key; did you mean priority?`}},
		{"an unknown key", `{"ipam":{"type":"dhcp","range":"10.0.0.0/8"}}`, Config{},
			[]string{`ipam: Invalid value: "range": is not a key; must be one of daemonSocketPath, priority, provide, request, type`}},
		{"IPv6", `{"ipam":{"type":"dhcp","ipv6":true}}`, Config{},
			[]string{"ipam.ipv6: Forbidden: is not supported: addresses come from DHCPv4 only; use whereabouts or static for IPv6"}},
		{"a socket elsewhere", `{"ipam":{"type":"dhcp","daemonSocketPath":"/run/containerd/containerd.sock"}}`, Config{},
			[]string{"ipam.daemonSocketPath: Forbidden: must be left out, or be /run/cni/dhcp.sock: the agent of this node has one socket"}},
		{"all errors at once", `{"ipam":{"type":"static","priority":-1,"provide":[3,{"option":"0","value":"x"},{"option":"message"},{"option":"53","value":"x"},{"option":"host-name","value":1}],
			"request":[{"option":"255"},{"skipDefault":"yes","optional":true}]}}`, Config{}, []string{
			`ipam.type: Forbidden: must be "dhcp"`,
			"ipam.priority: Forbidden: must be a metric from 0 to 2147483647",
			`ipam.provide[0]: Forbidden: is a number; must be an object with "option"`,
			`ipam.provide[1].option: Invalid value: "0": must be a number from 1 to 254 as text, or one of dhcp-client-identifier, host-name, routers, subnet-mask, user-class, vendor-class-identifier`,
			`ipam.provide[2].option: Invalid value: "message": must be a number`,
			"ipam.provide[2]: Required value: needs value or fromArg",
			"ipam.provide[3].option: Forbidden: option 53 cannot be provided: the client sets it itself",
			"ipam.provide[4].value: Forbidden: is a number; must be a string",
			"ipam.provide[4]: Required value: needs value or fromArg",
			`ipam.request[0].option: Invalid value: "255"`,
			`ipam.request[1]: Invalid value: "optional": is not a key; must be one of option, skipDefault`,
			"ipam.request[1].skipDefault: Forbidden: is a string; must be true or false",
		}},
		{"a value that no option can have", `{"ipam":{"type":"dhcp","provide":[{"option":"host-name","value":"` + strings.Repeat("a", 256) + `"}]}}`, Config{},
			[]string{"ipam.provide[0]: Too long"}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			got, errs := ReadConfig(tt.text, args)
			if len(errs) != len(tt.errs) {
				t.Fatalf("errors %q, expected %q", errs, tt.errs)
			}
			for i, err := range errs {
				if !strings.HasPrefix(err.Error(), tt.errs[i]) {
					t.Errorf("error %q, expected %q", err, tt.errs[i])
				}
			}
			if len(errs) == 0 {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add(`{"ipam":{"type":"dhcp","provide":[{"option":"host-name","fromArg":"A"}],"request":[{"option":"3"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, errs := ReadConfig(text, map[string]string{"A": "b"})
		if len(errs) > 0 {
			return
		}
		// What is valid can be sent.
		if _, err := discover([]byte{2, 0, 0, 0, 0, 1}, c, [1]Lease{}[0].Gateway); err != nil {
			t.Error(err)
		}
	})
}
