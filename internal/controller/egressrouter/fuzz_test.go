package egressrouter

import (
	"encoding/json"
	"strings"
	"testing"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	plugin "github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// FuzzValidRoutersAreWhatThePluginTakes promises that no specification makes the loop panic, and that what it does not refuse is a
// configuration that the plug-in takes, with every rule in it once.
func FuzzValidRoutersAreWhatThePluginTakes(f *testing.F) {
	for _, row := range specs() {
		spec := &networkv1.EgressRouterSpec{}
		content, err := json.Marshal(specOf(f, row.spec))
		if err != nil {
			f.Fatal(err)
		}
		if err := json.Unmarshal(content, spec); err != nil {
			f.Fatal(err)
		}
		f.Add("router", string(content))
	}
	f.Add(strings.Repeat("a.", 100)+"b", `{"addresses":[{"ip":"10.0.0.1/8","gateway":"10.0.0.2"}],"redirect":{"fallbackIP":"10.0.0.3"}}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		router := valid(name)
		router.Spec = networkv1.EgressRouterSpec{}
		if json.Unmarshal([]byte(text), &router.Spec) != nil || name == "" {
			return
		}
		errs := Validate(&router.Spec)
		made, err := objects(router, settings{Image: "i", Version: "v"})
		if len(errs) > 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(made) != len(router.Spec.Addresses)+1 {
			t.Fatalf("%d objects for %d addresses", len(made), len(router.Spec.Addresses))
		}
		rules := 0
		for _, o := range made[:len(made)-1] {
			config, ok := o.Object["spec"].(map[string]any)["config"].(string)
			conf, errs := plugin.Parse([]byte(config))
			if len(errs) > 0 || !ok {
				t.Fatalf("%s: %v", config, errs)
			}
			rules += len(conf.Destinations)
		}
		want := len(router.Spec.Redirect.RedirectRules)
		if router.Spec.Redirect.FallbackIP != "" {
			want++
		}
		if rules != want {
			t.Errorf("%d rules of %d", rules, want)
		}
	})
}
