// Package ui implements `cno ui`, which serves a web interface for the network with the permissions of the user who runs it. It
// installs nothing in the cluster.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	served "github.com/cluster-network-operator/cno/internal/ui"
	"github.com/cluster-network-operator/cno/internal/ui/archive"
	"github.com/cluster-network-operator/cno/internal/ui/live"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// firstObjects is the timeout of the initial sync of objects.
const firstObjects = time.Minute

// hostsPage is the page that shows a file.
const hostsPage = "hosts"

// maxFile is the size up to which the page sends a file to the server again.
const maxFile = 512 << 10

// options are the command-line options.
type options struct {
	archive string
	file    string
	port    uint16
	noOpen  bool
	form    output.Format
	cluster kubeconfig.Flags
	version string
}

// New creates the command. version is that of the binary, now the clock.
func New(p pipeline.Pipeline, version string, now func() time.Time) *cobra.Command {
	o := options{version: version}
	cmd := &cobra.Command{
		Use:   "ui [PAGE]",
		Short: "Show the network in a browser",
		Long: `Serves pages on 127.0.0.1 that show the network, live: its state, nodes and address pools, the
connectivity checks, a change with its plan, the history, the networks of hosts, and the path between
two pods. It prints the address, which has a random token, and opens it.

The pages use the permissions of the kubeconfig and nothing else: nothing is created in the cluster,
and users with read-only access see everything except the buttons. Other users of this machine cannot open
the pages without the token. Nothing is loaded from the Internet.

With --archive, the pages show an archive of cno doctor. With --file, the page hosts shows a file with
configuration of hosts, before there is a cluster: a document, a HostNetworkConfig, MachineConfigs or
the input of an installer, as a picture and with all its errors. With -o json or yaml, the document of PAGE
is printed instead: overview (the default), nodes, nodes/NAME, paths, change, history, hosts or pods;
pods lists pods, and cno trace prints the path between two of them.

Exit status: 0 the pages were closed, or the document was printed; 2 the cluster does not answer,
the user may not read the network, the archive is damaged, or the command line is wrong.`,
		Example: "  cno ui\n  cno ui paths --no-open --port 8080\n  cno ui --archive cno-doctor-20260102-030405.tar.gz\n  cno ui hosts --file worker-0.yml\n  cno ui nodes -o json",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return served.Pages(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, object, _ := strings.Cut(strings.Join(args, ""), "/")
			switch {
			case name == "" && o.file != "":
				name = hostsPage
			case name == "":
				name = "overview"
			case name != hostsPage && o.file != "":
				return fmt.Errorf("--file is for the page %s", hostsPage)
			}
			if !slices.Contains(served.Pages(), name) || object != "" && name != "nodes" {
				return fmt.Errorf("there is no page %q; the pages are %s, and nodes/NAME", strings.Join(args, ""), strings.Join(served.Pages(), ", "))
			}
			return o.run(cmd, p, now, name, object)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.archive, "archive", "", "an archive of cno doctor to show instead of a cluster")
	f.StringVar(&o.file, "file", "", "a file with configuration of hosts to show instead of a cluster, - for standard input")
	f.Uint16Var(&o.port, "port", 0, "port on 127.0.0.1 to listen on (default: any free one)")
	f.BoolVar(&o.noOpen, "no-open", false, "only print the address, and do not open a browser")
	o.form.Add(cmd)
	o.cluster.Add(f)
	_ = cmd.MarkFlagFilename("archive", "tar.gz")
	cmd.MarkFlagsMutuallyExclusive("archive", "file")
	return cmd
}

func (o *options) run(cmd *cobra.Command, p pipeline.Pipeline, now func() time.Time, name, object string) error {
	if o.archive != "" {
		return o.ofArchive(cmd, p, name, object)
	}
	if o.file != "" {
		return o.ofFile(cmd, now, name)
	}
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cluster, err := live.Open(cmd.Context(), config, o.cluster.Namespace, p.Registry.Operands(), now)
	if err != nil {
		return err
	}
	cluster.Source.Tracer, cluster.Source.Agents = p.Registry.Tracer, p.Registry.Operands().Agents
	actions, err := live.NewActions(cluster, p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { return cluster.Run(ctx, func() { close(ready) }) })
	group.Go(func() error {
		defer cancel()
		select {
		case <-ready:
		case <-ctx.Done():
			return nil
		case <-time.After(firstObjects):
			return fmt.Errorf("the cluster has not sent its objects within %s", firstObjects)
		}
		return o.show(ctx, cmd, served.Options{Source: cluster.Source, Changed: cluster.Changed, Follow: cluster.Follow, Actions: actions, Name: config.Host, Version: o.version}, name, object)
	})
	return group.Wait()
}

// ofArchive shows an archive of cno doctor. Its clock is the time at which it was written.
func (o *options) ofArchive(cmd *cobra.Command, p pipeline.Pipeline, name, object string) error {
	a, err := archive.Open(o.archive)
	if err != nil {
		return err
	}
	source := page.Source{
		Objects: a.Objects, Namespace: a.Namespace, Report: &a.Report, Missing: slices.Concat(a.Report.Missing, a.Unread),
		Now: func() time.Time { return a.Report.Time }, Tracer: p.Registry.Tracer, Agents: p.Registry.Operands().Agents,
	}
	return o.show(cmd.Context(), cmd, served.Options{Source: source, Name: filepath.Base(o.archive), Version: o.version}, name, object)
}

// ofFile shows a file with configuration of hosts.
func (o *options) ofFile(cmd *cobra.Command, now func() time.Time, name string) error {
	scheme, err := objects.Scheme()
	if err != nil {
		return err
	}
	draft := &page.Draft{Name: filepath.Base(o.file)}
	in := cmd.InOrStdin()
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return fmt.Errorf("read configuration: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", o.file, err)
	case len(text) > maxFile:
		return fmt.Errorf("%s has more than %d bytes", o.file, maxFile)
	}
	draft.Text = string(text)
	source := page.Source{Objects: objects.NewSet(scheme), Now: now, Draft: draft}
	return o.show(cmd.Context(), cmd, served.Options{Source: source, Name: draft.Name, Version: o.version}, name, "")
}

// show prints a document, or serves the pages until the context ends.
func (o *options) show(ctx context.Context, cmd *cobra.Command, options served.Options, name, object string) error {
	if !o.form.ForPeople() {
		doc, err := served.Document(ctx, options.Source, name, object, url.Values{})
		if err != nil {
			return err
		}
		return o.form.Write(cmd.OutOrStdout(), doc)
	}
	server, err := served.New(ctx, int(o.port), options)
	if err != nil {
		return err
	}
	path := "/" + name
	if object != "" {
		path += "/" + url.PathEscape(object)
	}
	if name == "overview" {
		path = "/"
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\nCtrl-C ends it.\n", server.URL(path)); err != nil {
		return err
	}
	if !o.noOpen {
		done, err := open(ctx, server.URLOnce(path))
		defer done()
		if err != nil {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "no browser could be started; open the address manually")
		}
	}
	if err := server.Serve(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// open opens an address in the default browser. All users of a machine can read the arguments of its processes, so the browser gets the name
// of a file that only this user can read, which leads to the address. done removes the file.
func open(ctx context.Context, address string) (done func(), err error) {
	dir, err := os.MkdirTemp("", "cno-ui-") // with mode 0700
	if err != nil {
		return func() {}, err
	}
	done = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	if err := os.WriteFile(file, []byte(served.Leading(address)), 0o600); err != nil {
		return done, err
	}
	program := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		program = []string{"open"}
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], file)...)
	if err := cmd.Start(); err != nil {
		return done, err
	}
	go func() { _ = cmd.Wait() }()
	return done, nil
}
