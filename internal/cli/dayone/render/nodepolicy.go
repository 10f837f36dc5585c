package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// nodePolicy is the form of a running cluster: an object for each document of a role.
const nodePolicy = "nncp"

// nodePolicies writes a NodeNetworkConfigurationPolicy of kubernetes-nmstate for each document, under the same checks as a
// MachineConfig.
func (o *options) nodePolicies(cmd *cobra.Command) error {
	found, err := o.checkedRoles(cmd)
	if err != nil {
		return err
	}
	out := output{separator: "---\n"}
	for _, role := range found.Roles {
		if o.role != "" && role.Name != o.role {
			continue
		}
		documents := role.Files.Documents()
		for _, file := range documents {
			if file.Name == placement.ClusterFile && len(documents) > 1 {
				return &exit.Code{Status: exit.Refused, Err: fmt.Errorf("%s is for the hosts of the role %s without a file of their own, which a nodeSelector cannot express; give each host a file", file.Name, cmp.Or(role.Name, "(none)"))}
			}
			object, err := nodePolicyOf(role.Name, file)
			if err != nil {
				return err
			}
			if err := out.object(object["metadata"].(map[string]any)["name"].(string)+".yaml", object); err != nil {
				return err
			}
		}
	}
	if len(out.files) == 0 {
		return fmt.Errorf("the input contains no document for the first boot")
	}
	return out.write(cmd.OutOrStdout(), o.dir)
}

func nodePolicyOf(role string, file placement.File) (map[string]any, error) {
	host := strings.TrimSuffix(file.Name, placement.Extension)
	selector := map[string]any{"kubernetes.io/hostname": host}
	if file.Name == placement.ClusterFile {
		if role == "" {
			return nil, fmt.Errorf("--role must name the role whose nodes get %s, for example worker", file.Name)
		}
		host, selector = role, map[string]any{"node-role.kubernetes.io/" + role: ""}
	}
	var document map[string]any
	if err := yaml.Unmarshal(file.Content, &document); err != nil {
		return nil, fmt.Errorf("%s: decode document: %w", file.Name, err)
	}
	// One node at a time: the default of kubernetes-nmstate is half of them, which is too many for br-ex.
	spec := map[string]any{"nodeSelector": selector, "maxUnavailable": int64(1)}
	desired, plain := document, true
	for _, key := range []string{"desiredState", "desired"} {
		if state, ok := document[key].(map[string]any); ok {
			desired, plain = state, false
		}
	}
	if capture, ok := document["capture"]; ok && !plain {
		spec["capture"] = capture
	}
	spec["desiredState"] = desired
	return map[string]any{
		"apiVersion": "nmstate.io/v1",
		"kind":       "NodeNetworkConfigurationPolicy",
		"metadata":   map[string]any{"name": "host-network-" + host},
		"spec":       spec,
	}, nil
}
