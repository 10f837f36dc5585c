package egressrouter

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

const (
	v4   = `{ip: 192.168.12.99/24, gateway: 192.168.12.1}`
	v6   = `{ip: "2001:db8:c::99/64", gateway: "2001:db8:c::1"}`
	rest = `mode: Redirect, networkInterface: {macvlan: {mode: Bridge}}`
	back = `redirect: {fallbackIP: 203.0.113.26}`
)

// specs are specifications with the fields at which something is wrong with them, as an API server takes them that has OpenShift's
// CRD.
func specs() []struct {
	why, spec string
	wrong     []string
} {
	const ip, gateway, rule = "spec.addresses[0].ip", "spec.addresses[0].gateway", "spec.redirect.redirectRules[0]"
	address := func(fields string) string { return `{` + rest + `, ` + back + `, addresses: [{` + fields + `}]}` }
	rules := func(list string) string {
		return `{` + rest + `, addresses: [` + v4 + `], redirect: {redirectRules: [` + list + `]}}`
	}
	macvlan := func(fields, addresses string) string {
		return `{mode: Redirect, ` + back + `, networkInterface: {macvlan: {` + fields + `}}, addresses: [` + addresses + `]}`
	}
	return []struct {
		why, spec string
		wrong     []string
	}{
		{"what OpenShift documents", rules(`{destinationIP: 10.0.0.99, port: 80, protocol: UDP}, {destinationIP: 203.0.113.26, port: 8080, protocol: TCP, targetPort: 80}`), nil},
		{"both families", `{` + rest + `, ` + back + `, addresses: [` + v4 + `, ` + v6 + `]}`, nil},
		{"a port of both families", `{` + rest + `, addresses: [` + v4 + `, ` + v6 + `], redirect: {redirectRules: [{destinationIP: 203.0.113.1, port: 80, protocol: TCP}, {destinationIP: "2001:db8::1", port: 80, protocol: TCP, targetPort: 80}]}}`, nil},
		{"a link-local gateway", `{` + rest + `, redirect: {fallbackIP: "2001:db8::1"}, addresses: [{ip: "2001:db8:c::99/64", gateway: "fe80::1"}]}`, nil},
		{"a network of two", address(`ip: 192.0.2.0/31, gateway: 192.0.2.1`), nil},
		{"OpenShift's least", `{` + rest + `, addresses: [], redirect: {}}`, []string{"spec.addresses", "spec.redirect"}},
		{"no redirect", `{` + rest + `, addresses: [` + v4 + `]}`, []string{"spec.redirect"}},
		{"half an address", address(`ip: 1.2.3, gateway: 192.168.12.1`), []string{ip}},
		{"no prefix", address(`ip: 192.168.12.99, gateway: 192.168.12.1`), []string{ip}},
		{"no prefix of IPv6", address(`ip: "2001:db8:c::99", gateway: "2001:db8:c::1"`), []string{ip}},
		{"leading zeros", address(`ip: 192.168.012.99/24, gateway: 192.168.12.1`), []string{ip}},
		{"IPv4 in IPv6", address(`ip: "::ffff:192.168.12.99/120", gateway: "::ffff:192.168.12.1"`), []string{ip, gateway}},
		{"a zone", address(`ip: "2001:db8:c::99/64", gateway: "fe80::1%eth0"`), []string{gateway, "spec.redirect.fallbackIP"}},
		{"the network", address(`ip: 192.168.12.0/24, gateway: 192.168.12.1`), []string{ip}},
		{"loopback", address(`ip: 127.0.0.2/8, gateway: 127.0.0.1`), []string{ip}},
		{"no gateway", address(`ip: 192.168.12.99/24`), []string{gateway}},
		{"an empty gateway", address(`ip: 192.168.12.99/24, gateway: ""`), []string{gateway}},
		{"not a gateway", address(`ip: 192.168.12.99/24, gateway: 999.1.1.1`), []string{gateway}},
		{"a gateway elsewhere", address(`ip: 192.168.12.99/24, gateway: 10.2.0.1`), []string{gateway}},
		{"itself", address(`ip: 192.168.12.99/24, gateway: 192.168.12.99`), []string{gateway}},
		{"the other family", address(`ip: 192.168.12.99/24, gateway: "2001:db8::1"`), []string{gateway}},
		{"a host alone", address(`ip: 192.168.12.99/32, gateway: 192.168.12.1`), []string{gateway}},
		{"two of one family", `{` + rest + `, ` + back + `, addresses: [` + v4 + `, {ip: 10.0.0.9/8, gateway: 10.0.0.1}]}`, []string{"spec.addresses[1].ip"}},
		{"not a port", rules(`{destinationIP: 203.0.113.1, port: 70000, protocol: TCP, targetPort: -1}`), []string{rule + ".port", rule + ".targetPort"}},
		{"not a destination", rules(`{destinationIP: example.com, port: 80, protocol: TCP}`), []string{rule + ".destinationIP"}},
		{"a multicast destination", rules(`{destinationIP: 224.0.0.1, port: 80, protocol: TCP}`), []string{rule + ".destinationIP"}},
		{"a destination of another family", rules(`{destinationIP: "2001:db8::1", port: 80, protocol: TCP}`), []string{rule + ".destinationIP"}},
		{"another port in IPv6", `{` + rest + `, addresses: [` + v6 + `], redirect: {redirectRules: [{destinationIP: "2001:db8::1", port: 80, protocol: TCP, targetPort: 81}]}}`, nil},
		{"a port twice", rules(`{destinationIP: 203.0.113.1, port: 80, protocol: TCP}, {destinationIP: 203.0.113.2, port: 80, protocol: TCP}`), []string{"spec.redirect.redirectRules[1].port"}},
		{"a protocol without ports", rules(`{destinationIP: 203.0.113.1, port: 80, protocol: ICMP}`), []string{rule + ".protocol"}},
		{"a fallback of another family", `{` + rest + `, addresses: [` + v4 + `], redirect: {fallbackIP: "2001:db8::1"}}`, []string{"spec.redirect.fallbackIP"}},
		{"a fallback with a port", `{` + rest + `, addresses: [` + v4 + `], redirect: {fallbackIP: "203.0.113.1:80"}}`, []string{"spec.redirect.fallbackIP"}},
		{"an unknown mode of macvlan", macvlan(`mode: bridge`, v4), []string{"spec.networkInterface.macvlan.mode"}},
		{"passthru twice", macvlan(`mode: Passthru`, v4+`, `+v6), []string{"spec.networkInterface.macvlan.mode"}},
		{"not an interface", macvlan(`mode: Bridge, master: "eth0:1"`, v4), []string{"spec.networkInterface.macvlan.master"}},
		{"the way up", macvlan(`mode: Bridge, master: ".."`, v4), []string{"spec.networkInterface.macvlan.master"}},
		{"all at once", `{` + rest + `, addresses: [{ip: 1.2.3, gateway: a}], redirect: {fallbackIP: b, redirectRules: [{destinationIP: c, port: 0, protocol: TCP}]}}`,
			[]string{ip, gateway, rule + ".destinationIP", rule + ".port", "spec.redirect.fallbackIP"}},
	}
}

func TestAllErrorsAreReportedAtTheirFields(t *testing.T) {
	for _, row := range specs() {
		t.Run(row.why, func(t *testing.T) {
			errs := Validate(specOf(t, row.spec))
			found := map[string]bool{}
			for _, e := range errs {
				found[e.Field] = true
				if e.Detail == "" {
					t.Errorf("no way out: %v", e)
				}
				if e.Origin == "" && e.Type != field.ErrorTypeNotSupported { // of which the API server's own check is the rule
					t.Errorf("no rule: %v", e)
				}
			}
			for _, path := range row.wrong {
				if !found[path] {
					t.Errorf("%s is not reported in %v", path, errs.ToAggregate())
				}
				delete(found, path)
			}
			if len(found) > 0 {
				t.Errorf("too many errors: %v", errs.ToAggregate())
			}
		})
	}
}

// Where this project's definition is installed, what the loop would refuse does not get there, and the words are the same.
func TestCRDRefusesWhatTheControllerRefuses(t *testing.T) {
	server := apitest.Shared(t)
	for _, row := range specs() {
		t.Run(row.why, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(`{spec: `+row.spec+`}`), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetGroupVersionKind(networkv1.GroupVersion.WithKind("EgressRouter"))
			object.SetName("agreement")
			object.SetNamespace("default")
			err := server.Client.Create(t.Context(), object, client.DryRunAll)
			if refused := apierrors.IsInvalid(err); refused != (len(row.wrong) > 0) || !refused && err != nil {
				t.Fatalf("the server returns %v", err)
			}
			status, ok := errors.AsType[*apierrors.StatusError](err)
			if !ok || strings.Contains(err.Error(), "Unsupported value") { // after which the server does not look at the rest
				return
			}
			for _, e := range Validate(specOf(t, row.spec)) {
				if e.Type != field.ErrorTypeRequired && !strings.Contains(causesOf(status), e.Detail) {
					t.Errorf("%q is not in the response of the server: %s", e.Detail, causesOf(status))
				}
			}
		})
	}
}

func causesOf(s *apierrors.StatusError) string {
	var all []string
	for _, cause := range s.ErrStatus.Details.Causes {
		all = append(all, cause.Message)
	}
	return strings.Join(all, "\n")
}

// What takes arithmetic on addresses is beyond the rules of definitions.
func TestBroadcastAddressIsRefusedByTheControllerOnly(t *testing.T) {
	errs := Validate(specOf(t, `{`+rest+`, `+back+`, addresses: [{ip: 192.168.12.255/24, gateway: 192.168.12.1}]}`))
	if len(errs) != 1 || !strings.Contains(errs[0].Detail, "broadcast") {
		t.Errorf("got %v", errs)
	}
}

func TestRouterThatSendsToItselfIsRefusedByTheControllerOnly(t *testing.T) {
	errs := Validate(specOf(t, `{`+rest+`, addresses: [`+v4+`], redirect: {fallbackIP: 192.168.12.99, redirectRules: [{destinationIP: 192.168.12.99, port: 80, protocol: TCP}]}}`))
	if len(errs) != 2 || errs[0].Field != "spec.redirect.redirectRules[0].destinationIP" || errs[1].Field != "spec.redirect.fallbackIP" {
		t.Errorf("got %v", errs)
	}
}

// OpenShift's definition sets defaults; what has none of them is the same.
func TestOmittedFieldsHaveDefaults(t *testing.T) {
	spec := specOf(t, `{`+back+`, addresses: [`+v4+`]}`)
	if errs := Validate(spec); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	router := valid("r")
	router.Spec = *spec
	config, err := configOf(router, &spec.Addresses[0])
	if err != nil || config.InterfaceArgs.Mode != "bridge" {
		t.Errorf("got %+v, %v", config, err)
	}
}

func specOf(t testing.TB, text string) *networkv1.EgressRouterSpec {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	spec := &networkv1.EgressRouterSpec{}
	if err := json.Unmarshal(content, spec); err != nil {
		t.Fatal(err)
	}
	return spec
}
