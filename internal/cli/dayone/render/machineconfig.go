package render

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// machineConfig is the form for the first boot of the installed system: one object with the documents of all hosts of a role.
const machineConfig = "machineconfig"

// machineConfigs writes the object of each role if `cno dayone validate` finds no error in the input. --allow-unsound accepts errors of a
// document that can be read.
func (o *options) machineConfigs(cmd *cobra.Command) error {
	found, err := o.checkedRoles(cmd)
	if err != nil {
		return err
	}
	out := output{separator: "---\n"}
	for _, role := range found.Roles {
		switch {
		case role.Name == "":
			return fmt.Errorf("--role must name the role whose nodes get the documents, for example master")
		case o.role != "" && role.Name != o.role:
			continue
		}
		if o.image != "" {
			program, err := programConfig(role.Name, o.image)
			if err != nil {
				return err
			}
			if err := out.object(program.GetName()+".yaml", program.Object); err != nil {
				return err
			}
		}
		object, _, err := machineconfig.Pack(role.Name, documents(role))
		if err != nil {
			return &exit.Code{Status: exit.Refused, Err: err}
		}
		if err := out.object(machineconfig.Name(role.Name)+".yaml", object.Object); err != nil {
			return err
		}
	}
	if len(out.files) == 0 {
		return fmt.Errorf("the input contains no document for the first boot")
	}
	return out.write(cmd.OutOrStdout(), o.dir)
}

// checkedRoles reads the documents for the first boot and prints their problems.
func (o *options) checkedRoles(cmd *cobra.Command) (roles.Found, error) {
	if o.base != "" || len(o.hosts) > 0 {
		return roles.Found{}, fmt.Errorf("--base and --host cannot be used with --as %s: it takes all documents of a role", o.as)
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read(o.files)
	if err != nil {
		return roles.Found{}, err
	}
	return found, roles.Print(cmd.ErrOrStderr(), o.checkRoles(found))
}

// checkRoles returns the problems; those that the user accepts are warnings.
func (o *options) checkRoles(found roles.Found) nmstate.Problems {
	s := found.Surroundings()
	s.WithoutBridge = s.WithoutBridge || o.withoutBridge
	problems := roles.Validate(found, s)
	if !o.allowUnsound {
		return problems
	}
	fatal := slices.Clone(found.Problems)
	for _, role := range found.Roles {
		fatal = append(fatal, validation.CheckFiles(role)...)
	}
	for i := range problems {
		problems[i].Warning = problems[i].Warning || !slices.Contains(fatal, problems[i])
	}
	return problems
}

// documents returns the files that nodes read.
func documents(role placement.Role) placement.Files {
	files := role.Files.Documents()
	if index, ok := role.Files.Get(placement.IndexFile); ok {
		files = append(files, index)
	}
	return files
}
