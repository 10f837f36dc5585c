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

// machineConfig is the form of the time after the boot: it takes the documents of all hosts of a role, and makes one object.
const machineConfig = "machineconfig"

// machineConfigs writes the object of each role, if `cno dayone validate` finds nothing wrong in what was given. What makes a document
// unsound can be let pass; what keeps it from being read cannot.
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
		return fmt.Errorf("there is no document for the first boot in what was given")
	}
	return out.write(cmd.OutOrStdout(), o.dir)
}

// checkedRoles reads the documents for the first boot; what is wrong with them is printed.
func (o *options) checkedRoles(cmd *cobra.Command) (roles.Found, error) {
	if o.base != "" || len(o.hosts) > 0 {
		return roles.Found{}, fmt.Errorf("--base and --host cannot be used with --as %s: it takes all documents of a role", o.as)
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read(o.files)
	if err != nil {
		return roles.Found{}, err
	}
	return found, roles.Print(cmd.ErrOrStderr(), o.judgeRoles(found))
}

// judgeRoles returns what is wrong; what the user lets pass is a warning.
func (o *options) judgeRoles(found roles.Found) nmstate.Problems {
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

// documents are the files that nodes read.
func documents(role placement.Role) placement.Files {
	files := role.Files.Documents()
	if index, ok := role.Files.Get(placement.IndexFile); ok {
		files = append(files, index)
	}
	return files
}
