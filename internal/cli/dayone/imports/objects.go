package imports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// objects returns a HostNetworkConfig for each role: cluster.yml is its template, and each host's file the state of that host. Hosts
// that have a document for the time before the boot only get an object of their own, since one object has one state for both.
func objects(found roles.Found) ([]output, error) {
	configs := map[string]*networkv1.HostNetworkConfig{}
	get := func(name, role string, phase networkv1.Phase) *networkv1.HostNetworkConfig {
		if configs[name] == nil {
			configs[name] = &networkv1.HostNetworkConfig{
				TypeMeta:   metav1.TypeMeta{APIVersion: networkv1.GroupVersion.String(), Kind: "HostNetworkConfig"},
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       networkv1.HostNetworkConfigSpec{Role: role, Phases: []networkv1.Phase{phase}},
			}
		}
		return configs[name]
	}
	for _, role := range found.Roles {
		name := cmp.Or(role.Name, "worker")
		for _, file := range role.Files.Documents() {
			state, err := rawOf(file.Name, file.Content)
			if err != nil {
				return nil, err
			}
			config := get(name, name, networkv1.FirstBoot)
			if file.Name == placement.ClusterFile {
				config.Spec.Template = state
				continue
			}
			config.Spec.Hosts = append(config.Spec.Hosts, networkv1.Host{Name: strings.TrimSuffix(file.Name, placement.Extension), DesiredState: state})
		}
	}
	for _, host := range found.PreBoot {
		state, err := rawOf(host.Name, host.Document)
		if err != nil {
			return nil, err
		}
		role := cmp.Or(host.Role, "worker")
		config := get(role+"-"+preBootRole, role, networkv1.PreBoot)
		entry := networkv1.Host{Name: host.Name, DesiredState: state}
		if host.BareMetalHost != placement.ShortName(host.Name) { // the default
			entry.BareMetalHost = host.BareMetalHost
		}
		config.Spec.Hosts = append(config.Spec.Hosts, entry)
	}
	var all []output
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		content, err := encode(configs[name])
		if err != nil {
			return nil, err
		}
		all = append(all, output{name + ".yaml", content})
	}
	return all, nil
}

// rawOf returns a document as it is embedded in an object. It escapes text that looks like a reference to a value.
func rawOf(name string, content []byte) (*runtime.RawExtension, error) {
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(string(content), "${", "$${")))
	if err != nil {
		return nil, fmt.Errorf("%s: decode document: %w", name, err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

func encode(config *networkv1.HostNetworkConfig) ([]byte, error) {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		return nil, fmt.Errorf("encode HostNetworkConfig: %w", err)
	}
	delete(plain, "status")
	return yaml.Marshal(plain)
}
