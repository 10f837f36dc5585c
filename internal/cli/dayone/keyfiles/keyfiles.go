// Package keyfiles is `cno dayone keyfiles`: it converts a document to connection profiles of NetworkManager.
package keyfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/linkfile"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/output"
)

// New returns the command. It reads standard input for a file named "-".
func New() *cobra.Command {
	var dir, host string
	var files []string
	var strict bool
	var form output.Format
	cmd := &cobra.Command{
		Use:   "keyfiles [-f] FILE",
		Short: "Convert an NMState document to NetworkManager keyfiles",
		Long: `Writes the connection profiles that NMState's own generator (nmstatectl gc) creates from a document,
in the order of activation; docs/day-one-keyfiles.md lists the differences. Warnings and errors
go to standard error, one per line with file, line and path, all at once.

A document for which NetworkManager drops a file is written with a warning, as by NMState; --strict
refuses it, as "cno dayone validate" does.

With --dir the files are written there with mode 0600, without which NetworkManager ignores them.
With --output json or yaml they are printed as {"NetworkManager": [["NAME", "CONTENT"], ...]}.

Exit status: 0 done, 1 the document is refused, 2 it cannot be read, or the command line is wrong.`,
		Example: "  cno dayone keyfiles -f worker-0.yml\n  cno dayone keyfiles -f worker-0.yml --dir system-connections",
		Args:    roles.FileArgs(&files),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir != "" && cmd.Flags().Changed("output") {
				return errors.New("--dir and --output cannot be used together")
			}
			if len(files) > 1 {
				return errors.New("only one document can be converted; \"cno dayone render --as keyfiles\" accepts several")
			}
			profiles, err := generate(cmd, files[0], host, strict)
			if err != nil {
				return err
			}
			if dir != "" {
				return write(dir, profiles)
			}
			return print(cmd.OutOrStdout(), form, profiles)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "NMState document in YAML or JSON, an install-config, an agent-config or an NMStateConfig, - for standard input")
	cmd.Flags().StringVar(&host, "host", "", "the host, if an install-config, an agent-config or NMStateConfigs have several")
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse documents for which NetworkManager drops a file")
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write the files to; created if it does not exist")
	form.Add(cmd)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// generate reads a document and returns its files. It prints the problems of the document.
func generate(cmd *cobra.Command, file, host string, strict bool) ([]nmconn.File, error) {
	data, err := read(cmd.InOrStdin(), file)
	if err != nil {
		return nil, err
	}
	from, problems, err := choose(file, data, host)
	if err != nil {
		return nil, err
	}
	var files []nmconn.File
	doc, wrong := nmstate.Parse(file, from.Document)
	problems = append(problems, from.Locate(wrong)...)
	if doc != nil {
		var more nmstate.Problems
		if files, more = nmconn.Generate(doc); strict {
			files, more = nmconn.Profiles(doc)
		}
		more = append(more, linkfile.Unwritten(doc, "a profile of NetworkManager")...)
		problems = append(problems, from.Locate(more)...)
	}
	for _, p := range problems.Sorted() {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p); err != nil {
			return nil, err
		}
	}
	if problems.HasErrors() {
		return nil, &exit.Code{Status: exit.Refused}
	}
	return files, nil
}

// choose returns the host of the document: the file itself, or one host of an installer's input.
func choose(file string, data []byte, name string) (metal.Host, nmstate.Problems, error) {
	if !metal.IsInput(data) {
		if name != "" {
			return metal.Host{}, nil, fmt.Errorf("--host cannot be used with %s, which is one document", file)
		}
		return metal.Host{File: file, Document: data}, nil, nil
	}
	hosts, problems := metal.Hosts(file, data)
	var names []string
	for _, h := range hosts {
		if h.Name == name || name == "" && len(hosts) == 1 {
			return h, problems, nil
		}
		names = append(names, h.Name)
	}
	if problems.HasErrors() {
		return metal.Host{File: file}, problems, nil
	}
	return metal.Host{}, nil, fmt.Errorf("%s has several hosts; name one with --host: %s", file, strings.Join(names, ", "))
}

// read returns the content of a file, up to one byte more than Parse accepts.
func read(stdin io.Reader, file string) ([]byte, error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, nmstate.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return data, nil
}

// print writes the files to w.
func print(w io.Writer, form output.Format, files []nmconn.File) error {
	if !form.ForPeople() {
		pairs := [][2]string{}
		for _, f := range files {
			pairs = append(pairs, [2]string{f.Name, f.Content})
		}
		return form.Write(w, map[string]any{"NetworkManager": pairs})
	}
	for i, f := range files {
		gap := "\n"
		if i == 0 {
			gap = ""
		}
		if _, err := fmt.Fprintf(w, "%s# %s\n%s", gap, f.Name, f.Content); err != nil {
			return err
		}
	}
	return nil
}
