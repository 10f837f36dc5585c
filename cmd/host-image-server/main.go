// Command host-image-server serves boot images that contain their host's network configuration; see
// docs/programs/host-image-server.md.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/controller/preprovisioningimage"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/imageserver"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/version"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exit.Report(os.Stderr, "host-image-server", command().ExecuteContext(ctx))
}

// options are the flags.
type options struct {
	server   imageserver.Options
	serving  imageserver.Serving
	hosts    string
	base     string
	token    string
	urlKey   string
	listen   string
	logLevel slog.Level
	metal    metal3
}

func command() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:           "host-image-server --url URL [--iso FILE] [--initramfs FILE] [--hosts DIR --token-file FILE] [--preprovisioning-namespace NAMESPACE --url-key-file FILE]",
		Short:         "Serve boot images that contain the network configuration of their host",
		Version:       version.String(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.server.ISO, "iso", "", "a CoreOS live ISO to serve with each host's configuration in it")
	f.StringVar(&o.server.Initramfs, "initramfs", "", "an initramfs to serve with each host's configuration behind it")
	f.StringVar(&o.hosts, "hosts", "", "the directory of documents, <host>.yml or <host>.yaml")
	f.StringVar(&o.base, "base", "", "an Ignition configuration (3.0 to 3.2) that is merged with that of each host")
	f.BoolVar(&o.server.EarlyNetwork, "early-network", false, "configure the network before Ignition runs, to fetch a root file system over it")
	f.StringVar(&o.token, "token-file", "", fmt.Sprintf("a file with the token for the list of hosts, %d characters or more", imageserver.MinToken))
	f.StringVar(&o.server.URL, "url", "", "the URL at which hosts reach this server, for example http://192.0.2.1:8080")
	f.StringVar(&o.listen, "listen", ":8080", "the address to listen on")
	f.StringVar(&o.serving.Certificate, "tls-cert", "", "the file of the certificate to serve HTTPS with")
	f.StringVar(&o.serving.Key, "tls-key", "", "the file of its key")
	f.DurationVar(&o.serving.Interval, "interval", 10*time.Second, "how often the directory of documents, and Secrets that PreprovisioningImages name, are read")
	f.DurationVar(&o.server.Retain, "retain", time.Hour, "how long the URL of a replaced document remains valid")
	f.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "what to log: debug, info, warn or error")
	f.StringVar(&o.server.Kernel, "kernel", "", "the kernel that belongs to the initramfs, to be served with it")
	f.StringVar(&o.urlKey, "url-key-file", "", fmt.Sprintf("a file with the key from which the URLs of PreprovisioningImages are derived, %d characters or more", imageserver.MinToken))
	o.metal.flags(f)
	_ = cmd.MarkFlagRequired("url")
	cmd.MarkFlagsOneRequired("hosts", "preprovisioning-namespace")
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	cmd.MarkFlagsOneRequired("iso", "initramfs")
	return cmd
}

func (o *options) run(ctx context.Context) error {
	if err := o.read(); err != nil {
		return err
	}
	if o.hosts != "" {
		o.server.Hosts = os.DirFS(o.hosts)
	}
	o.server.Now, o.server.Random = time.Now, rand.Reader
	level := &slog.LevelVar{}
	level.Set(o.logLevel)
	o.server.Log = logging.Setup(os.Stderr, level)
	server, err := imageserver.New(o.server)
	if err != nil {
		return err
	}
	o.serving.Listener, err = net.Listen("tcp", o.listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), server.Close())
	}
	o.server.Log.Info("serving images", "address", o.serving.Listener.Addr().String(), "version", version.String())
	return errors.Join(o.serve(ctx, server), server.Close())
}

// serve serves images and reconciles PreprovisioningImages, until one of the two ends.
func (o *options) serve(ctx context.Context, server *imageserver.Server) error {
	if len(o.metal.Namespaces) == 0 {
		return server.Run(ctx, o.serving)
	}
	config, err := o.metal.config(o.server, o.serving.Interval)
	if err != nil {
		return err
	}
	config.Server, config.Metrics = server, server.Registry()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx, o.serving) })
	group.Go(func() error { return preprovisioningimage.Run(ctx, config) })
	return group.Wait()
}

// read validates the command line, and reads the small files.
func (o *options) read() error {
	at, err := url.Parse(o.server.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.RawQuery != "" || at.Fragment != "" {
		return fmt.Errorf("--url %q is not of the form http://HOST:PORT or https://HOST:PORT", o.server.URL)
	}
	o.server.URL = strings.TrimRight(o.server.URL, "/")
	if o.serving.Interval < time.Second {
		return fmt.Errorf("--interval %v is less than a second", o.serving.Interval)
	}
	if o.server.Retain < 0 {
		return fmt.Errorf("--retain %v is negative", o.server.Retain)
	}
	if o.hosts != "" && o.token == "" {
		return errors.New("--hosts needs --token-file: the list of hosts has the URLs of their images")
	}
	if err := o.metal.check(o.urlKey); err != nil {
		return err
	}
	if o.server.Token, err = readSecret("token", o.token); err != nil {
		return err
	}
	if o.server.URLKey, err = readSecret("key of URLs", o.urlKey); err != nil {
		return err
	}
	o.server.Base, err = readBase(o.base)
	return err
}

// readSecret returns the line of a file, or an empty string without a file.
func readSecret(what, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// readBase returns the configuration to merge with, or nil without a file.
func readBase(path string) (*types.Config, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read base configuration: %w", err)
	}
	config, _, err := ignition.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &config, nil
}
