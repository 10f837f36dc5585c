package render

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// machineConfig is the form of the time after the boot: it takes the documents of all hosts of a role, and makes one object.
const machineConfig = "machineconfig"

// machineConfigs writes the object of each role. A document that cannot be read is refused; one that is unsound is shown, and
// `cno dayone validate` refuses it.
func (o *options) machineConfigs(cmd *cobra.Command) error {
	if o.base != "" || len(o.hosts) > 0 {
		return fmt.Errorf("--base and --host are of no use with --as %s: all hosts of a role get all documents", machineConfig)
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read(o.files)
	if err != nil {
		return err
	}
	out, problems := output{separator: "---\n"}, found.Problems
	rendered := 0
	for _, role := range found.Roles {
		switch {
		case role.Name == "":
			return fmt.Errorf("--role must name the role whose nodes get the documents, for example master")
		case o.role != "" && role.Name != o.role:
			continue
		}
		rendered++
		unusable := placement.CheckFiles(role)
		problems = append(problems, unusable...)
		for _, p := range placement.Validate([]placement.Role{role}, placement.Surroundings{WithoutBridge: found.WithoutBridge}) {
			if !contains(unusable, p) {
				p.Warning = true
				problems = append(problems, p)
			}
		}
		if unusable.HasErrors() {
			continue
		}
		object, _, err := placement.MachineConfig(role.Name, documents(role))
		if err != nil {
			return &exit.Code{Status: exit.Refused, Err: err}
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encode MachineConfig: %w", err)
		}
		out.files = append(out.files, file{placement.MachineConfigName(role.Name) + ".yaml", text})
		out.stream = append(out.stream, text)
	}
	if err := roles.Print(cmd.ErrOrStderr(), problems); err != nil {
		return err
	}
	if rendered == 0 {
		return fmt.Errorf("there is no document for the first boot in what was given")
	}
	return out.write(cmd.OutOrStdout(), o.dir)
}

// documents are the files that nodes read.
func documents(role placement.Role) placement.Files {
	files := role.Files.Documents()
	if index, ok := role.Files.Get(placement.IndexFile); ok {
		files = append(files, index)
	}
	return files
}

func contains(all nmstate.Problems, p nmstate.Problem) bool {
	for _, have := range all {
		if have == p {
			return true
		}
	}
	return false
}
