// Package diff is `cno dayone diff`: it compares host network configurations by interface, address and route.
package diff

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/docdiff"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/policy"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
	"github.com/cluster-network-operator/cno/internal/output"
)

// change has the differences of one file of a role.
type change struct {
	Role string `json:"role,omitempty"`
	File string `json:"file,omitempty"`
	// Change is added, removed or changed.
	Change      string               `json:"change"`
	Differences []docdiff.Difference `json:"differences"`
}

// New returns the command.
func New() *cobra.Command {
	var form output.Format
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changes from one configuration to another",
		Long: `Compares two documents, or two sets of them (directories, MachineConfigs, HostNetworkConfigs) file by
file: by interface, address, route, rule and resolver. Order and spelling are ignored.

Exit status: 0 compared (with --exit-code: 0 the same, 1 different), 1 one of them is not a document,
2 one of them cannot be read, or the command line is wrong.`,
		Example: "  cno dayone diff master-0.yml new/master-0.yml\n  cno dayone diff 10-br-ex-master.yaml new/",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := compare(cmd, args[0], args[1])
			if err != nil {
				return err
			}
			if err := print(cmd.OutOrStdout(), form, changes); err != nil {
				return err
			}
			if exitCode && len(changes) > 0 {
				return &exit.Code{Status: exit.Refused}
			}
			return nil
		},
	}
	form.Add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 if there is a difference")
	return cmd
}

// place is one file of a role.
type place struct{ role, file string }

func compare(cmd *cobra.Command, a, b string) ([]change, error) {
	before, plainA, err := read(cmd, a)
	if err != nil {
		return nil, err
	}
	after, plainB, err := read(cmd, b)
	if err != nil {
		return nil, err
	}
	// The names of two single documents are ignored, and so is the name of the role of two sets with one role each.
	before, after = align(before, after, plainA && plainB)
	all := maps.Clone(before)
	maps.Copy(all, after)
	changes := []change{}
	for _, at := range slices.SortedFunc(maps.Keys(all), func(x, y place) int {
		return slices.Compare([]string{x.role, x.file}, []string{y.role, y.file})
	}) {
		oldDoc, inBefore := before[at]
		newDoc, inAfter := after[at]
		differences, err := docdiff.Diff(oldDoc, newDoc)
		if err != nil {
			return nil, err
		}
		c := change{at.role, at.file, "changed", differences}
		switch {
		case !inBefore:
			c.Change = "added"
		case !inAfter:
			c.Change = "removed"
		case len(differences) == 0:
			continue
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func align(before, after map[place]*nmstate.Document, plain bool) (map[place]*nmstate.Document, map[place]*nmstate.Document) {
	rename := func(docs map[place]*nmstate.Document, keepFile bool) map[place]*nmstate.Document {
		out := map[place]*nmstate.Document{}
		for at, doc := range docs {
			if !keepFile {
				at.file = ""
			}
			out[place{"", at.file}] = doc
		}
		return out
	}
	if plain && len(before) == 1 && len(after) == 1 {
		return rename(before, false), rename(after, false)
	}
	if singleRole(before) && singleRole(after) {
		return rename(before, true), rename(after, true)
	}
	return before, after
}

// singleRole reports whether there is at most one role.
func singleRole(docs map[place]*nmstate.Document) bool {
	names := map[string]bool{}
	for at := range docs {
		names[at.role] = true
	}
	return len(names) < 2
}

func read(cmd *cobra.Command, path string) (map[place]*nmstate.Document, bool, error) {
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin()}).Read([]string{path})
	if err != nil {
		return nil, false, err
	}
	docs, problems := map[place]*nmstate.Document{}, found.Problems
	add := func(role, name string, content []byte) {
		p, wrong := policy.Parse(path+": "+name, content)
		problems = append(problems, wrong.Errors()...)
		switch {
		case p == nil:
		case p.NeedsHost():
			problems = append(problems, nmstate.Problem{File: path + ": " + name, Message: "has captures, which are evaluated on the host; the document is skipped", Warning: true})
		default:
			doc, wrong := p.Fill(nil)
			problems = append(problems, wrong.Errors()...)
			docs[place{role, name}] = doc
		}
	}
	for _, role := range found.Roles {
		for _, file := range role.Files.Documents() {
			add(role.Name, file.Name, file.Content)
		}
	}
	for _, host := range found.PreBoot {
		add(host.Role, validation.PreBootName(host.Name), host.Document)
	}
	return docs, found.Plain, roles.Print(cmd.ErrOrStderr(), problems)
}

func print(w io.Writer, form output.Format, changes []change) error {
	if !form.ForPeople() {
		return form.Write(w, changes)
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(w, "no difference")
		return err
	}
	for _, c := range changes {
		indent := ""
		if c.File != "" {
			indent = "  "
			name := c.File
			if c.Role != "" {
				name += " of role " + c.Role
			}
			if _, err := fmt.Fprintf(w, "%s is %s\n", name, c.Change); err != nil {
				return err
			}
		}
		subject := ""
		for _, d := range c.Differences {
			if d.Subject != subject {
				subject = d.Subject
				if _, err := fmt.Fprintf(w, "%s%s\n", indent, subject); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", indent, d); err != nil {
				return err
			}
		}
	}
	if changes[0].File == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\nNo node is restarted for files in %s; each applies its own at its next boot.\n", placement.Dir)
	return err
}
