package delegate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

func TestTheWrapperHasTheListAndItsCapabilities(t *testing.T) {
	own := `{"cniVersion":"1.0.0","name":"flannel","disableCheck":true,"plugins":[{"type":"bridge"},{"type":"portmap","capabilities":{"portMappings":true,"off":false}}]}`
	raw, err := Wrap([]byte(own))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		CNIVersion, Name string
		DisableCheck     bool
		Plugins          []Conf
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.CNIVersion != "1.0.0" || got.Name != "flannel" || !got.DisableCheck || len(got.Plugins) != 1 || got.Plugins[0].Type != Shim {
		t.Errorf("%s", raw)
	}
	if runtime, err := libcni.NetworkConfFromBytes(raw); err != nil || runtime.CNIVersion != cniproto.NewestVersion {
		t.Errorf("a runtime of CNI %s uses version %+v, %v", cniproto.NewestVersion, runtime, err)
	}
	if diff := cmp.Diff(map[string]bool{CapabilityAnnotations: true, "portMappings": true, "off": false}, got.Plugins[0].Capabilities); diff != "" {
		t.Error(diff)
	}
	var inside, want any
	if err := json.Unmarshal(got.Plugins[0].Delegate, &inside); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(own), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, inside); diff != "" {
		t.Error(diff)
	}
	if !Wrapped(raw) || Wrapped([]byte(own)) {
		t.Errorf("%s is wrapped: %v, %s: %v", raw, Wrapped(raw), own, Wrapped([]byte(own)))
	}
}

func TestOnePluginIsWrapped(t *testing.T) {
	raw, err := Wrap([]byte(`{"cniVersion":"0.4.0","name":"n","type":"bridge","capabilities":{"ips":true}}`))
	if err != nil || !strings.Contains(string(raw), `"ips": true`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestInvalidConfigurationIsRefused(t *testing.T) {
	for _, row := range []struct{ own, want string }{
		{`{`, "not valid JSON"},
		{`{"name":"n"}`, "neither"},
		{`{"type":"bridge"}`, "no name"},
		{`{"name":"n","plugins":[{"type":"multus-shim"}]}`, "plugins[0] has the type"},
		{`{"name":"n","type":"multus-shim"}`, "already"},
	} {
		if _, err := Wrap([]byte(row.own)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.own, err)
		}
	}
}

func TestWrappedReportsConfigurationsThatStartTheShim(t *testing.T) {
	wrapped, err := Wrap([]byte(`{"cniVersion":"1.0.0","name":"x","type":"bridge"}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		string(wrapped): true, `{"name":"x","type":"multus-shim"}`: true, `{"plugins":[{"type":"multus-shim"},{"type":"tuning"}]}`: true,
		`{"name":"x","type":"bridge"}`: false, `{"plugins":[]}`: false, "": false, "{": false,
	} {
		if got := Wrapped([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
