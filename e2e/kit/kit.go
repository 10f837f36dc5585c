// Package kit contains the helpers that the suites and the demonstration share: commands of the lab, clients of its
// API server, the installation of the operator, and polls that report why a condition is not met.
package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	osv1 "github.com/openshift/api/operator/v1"
	controlplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cluster-network-operator/cno/e2e/lab/activity"
	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

// Kit is a checkout with its lab. Client is nil until Connect has succeeded.
type Kit struct {
	// Root is the checkout.
	Root string
	// Overlay, if not empty, is a directory with further images in images/, whose archives replace those of the checkout with the
	// same name. If it has config/, that installs the operator instead of the checkout's.
	Overlay string
	// Type is the network type of the lab, which determines its images. Empty means Flannel.
	Type operatorv1.NetworkType
	// Client talks to the lab's API server with cluster-admin permissions. It does not cache.
	Client client.Client
	// Config is the configuration of Client, for further clients.
	Config *rest.Config

	// lab is the name of the lab; empty is the default lab.
	lab string
	// unlock keeps the lock of an exclusive lab until the process ends.
	unlock  func()
	excused []window
}

// New returns the kit of the checkout that contains the working directory.
func New() (*Kit, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// Errors report failures; without a logger, the client would print a warning.
	log.SetLogger(logr.Discard())
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "go.mod")); err == nil {
			return &Kit{Root: dir, lab: os.Getenv(layout.Variable)}, nil
		}
	}
	return nil, errors.New("not inside a checkout: no e2e/go.mod in any directory above")
}

// Exclusive is New for a test binary, which gets exclusive use of a lab until it ends: of the one that the environment names, or of
// the first that is free. Suites that run at the same time get different labs.
func Exclusive() (*Kit, error) {
	k, err := New()
	if err != nil {
		return nil, err
	}
	if k.lab != "" {
		k.unlock, err = filelock.Try(k.layout().Suite())
		return k, err
	}
	return k, k.exclude()
}

// Beside returns another lab of the same checkout, which no test binary uses, including this one.
func (k *Kit) Beside() (*Kit, error) {
	other := &Kit{Root: k.Root}
	return other, other.exclude()
}

// exclude locks the first lab that no test binary uses.
func (k *Kit) exclude() (err error) {
	for number := 2; ; number++ {
		if k.unlock, err = filelock.Try(k.layout().Suite()); !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		k.lab = strconv.Itoa(number)
	}
}

// StatusCommand returns the command that prints the status of the lab.
func (k *Kit) StatusCommand() string {
	if k.lab == "" {
		return "_output/lab-bin/lab status"
	}
	return k.Variable() + " _output/lab-bin/lab status"
}

// Name returns the name of the lab; empty for the default lab.
func (k *Kit) Name() string { return k.lab }

// Variable returns the environment variable, as NAME=VALUE, that selects this lab.
func (k *Kit) Variable() string { return layout.Variable + "=" + k.lab }

// Environ returns the environment for commands that use this lab.
func (k *Kit) Environ() []string { return append(os.Environ(), k.Variable()) }

// Cgroup returns the control group of the lab.
func (k *Kit) Cgroup() string { return k.layout().Cgroup() }

// Kubeconfig returns the path of the lab's kubeconfig.
func (k *Kit) Kubeconfig() string { return k.layout().Kubeconfig() }

func (k *Kit) layout() layout.Layout { return layout.Layout{Root: k.Root, Lab: k.lab} }

// Lab runs a command of the lab binary, and returns its standard output. An error contains the output too.
func (k *Kit) Lab(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab-bin/lab"), nil, args...)
}

// Kubectl runs kubectl against the lab, and returns its standard output.
func (k *Kit) Kubectl(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab/bin/kubectl"), nil, append([]string{"--kubeconfig", k.Kubeconfig()}, args...)...)
}

// KubectlInput is Kubectl with input as its standard input.
func (k *Kit) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab/bin/kubectl"), strings.NewReader(input),
		append([]string{"--kubeconfig", k.Kubeconfig()}, args...)...)
}

// Helm runs helm against the lab, and returns its standard output. The command "build helm" of the lab builds it.
func (k *Kit) Helm(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab/bin/helm"), nil, append([]string{"--kubeconfig", k.Kubeconfig()}, args...)...)
}

func (k *Kit) run(ctx context.Context, program string, stdin *strings.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = k.Root
	cmd.Env = k.Environ()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, activity.Lines(ctx)), &errOut
	// Descendants may hold the pipes open after the process has ended.
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// Connect creates the clients of a running lab.
func (k *Kit) Connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the lab's kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 100, 200
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, operatorv1.AddToScheme, networkoperatorv1.AddToScheme, networkv1.AddToScheme, sdnv1.AddToScheme,
		configv1.Install, controlplanev1alpha1.Install, machineconfigv1.Install, addIngressController} {
		if err := add(s); err != nil {
			return err
		}
	}
	c, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return err
	}
	k.Config, k.Client = cfg, c
	return nil
}

// Poll calls f until it succeeds, and returns its last error when the limit is reached. Between calls it waits four times as long as
// the last call took, from 100 milliseconds to 2 seconds, so that checks that run commands do not slow down the lab.
func Poll(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	const shortest, longest = 100 * time.Millisecond, 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		begin := time.Now()
		err := f(ctx)
		if err == nil {
			return nil
		}
		// The error of a call that the deadline has cut short is less specific than the previous one.
		if ctx.Err() == nil || last == nil {
			last = err
			activity.Note(ctx, err.Error())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", limit, last)
		case <-time.After(min(longest, max(shortest, 4*time.Since(begin)))):
		}
	}
}

// addIngressController registers the only kind of OpenShift's group operator.openshift.io that suites use. Kind Network of the group
// is this project's own.
func addIngressController(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(osv1.GroupVersion, &osv1.IngressController{}, &osv1.IngressControllerList{})
	return nil
}
