// Package kit is what the suites and the demonstration share: the lab as its commands show it, clients of its
// API server, the installation of the operator, and waiting for a condition with the reason why it has not come.
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
)

// Kit is a checkout with its lab. Client is nil until Connect has succeeded.
type Kit struct {
	// Root is the checkout.
	Root string
	// Overlay, if not empty, is a directory with further images in images/, whose archives replace those of the checkout with the
	// same name. If it has config/, that installs the operator instead of the checkout's.
	Overlay string
	// Type is the network that the lab is for, which decides about its images. Empty is Flannel.
	Type operatorv1.NetworkType
	// Client talks to the lab's API server with cluster-admin rights. It does not cache.
	Client client.Client
	// Config is the configuration of Client, for further clients.
	Config *rest.Config

	// lab is the name of the lab; empty is the one that a person uses.
	lab string
	// unlock is kept, so that the lock of an exclusive lab is held until the
	// program ends.
	unlock  func()
	excused []window
}

// New finds the checkout that the working directory lies in.
func New() (*Kit, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	// What fails is in errors; without a logger, the client would print where it wanted to log.
	log.SetLogger(logr.Discard())
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "e2e", "go.mod")); err == nil {
			return &Kit{Root: dir, lab: os.Getenv(layout.Variable)}, nil
		}
	}
	return nil, errors.New("not inside a checkout: no e2e/go.mod in any directory above")
}

// Exclusive is New for a test program, which gets a lab that no other one uses until
// it ends: the one that the environment names, or the first that is free. Suites that
// run at the same time get different labs.
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

// Beside is another lab of the same checkout, which no test program uses, this one included.
func (k *Kit) Beside() (*Kit, error) {
	other := &Kit{Root: k.Root}
	return other, other.exclude()
}

// exclude chooses the first lab that no test program uses.
func (k *Kit) exclude() (err error) {
	for number := 2; ; number++ {
		if k.unlock, err = filelock.Try(k.layout().Suite()); !errors.Is(err, filelock.ErrHeld) {
			return err
		}
		k.lab = strconv.Itoa(number)
	}
}

// Look is the command that shows the lab, with its name where it has one.
func (k *Kit) Look() string {
	if k.lab == "" {
		return "_output/lab-bin/lab status"
	}
	return k.Variable() + " _output/lab-bin/lab status"
}

// Name is the name of the lab; that of the first one is empty.
func (k *Kit) Name() string { return k.lab }

// Variable is the environment variable, with its value, that makes commands concern
// this lab.
func (k *Kit) Variable() string { return layout.Variable + "=" + k.lab }

// Environ is the environment of commands that concern this lab.
func (k *Kit) Environ() []string { return append(os.Environ(), k.Variable()) }

// Cgroup is the branch of the lab in the control groups of the machine.
func (k *Kit) Cgroup() string { return k.layout().Cgroup() }

// Kubeconfig is the path of the lab's kubeconfig.
func (k *Kit) Kubeconfig() string { return k.layout().Kubeconfig() }

func (k *Kit) layout() layout.Layout { return layout.Layout{Root: k.Root, Lab: k.lab} }

// Lab runs a command of the lab program, and returns what it printed. The error holds it too.
func (k *Kit) Lab(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab-bin/lab"), nil, args...)
}

// Kubectl runs kubectl against the lab, and returns what it printed on standard output.
func (k *Kit) Kubectl(ctx context.Context, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab/bin/kubectl"), nil, append([]string{"--kubeconfig", k.Kubeconfig()}, args...)...)
}

// KubectlInput is Kubectl with something on standard input.
func (k *Kit) KubectlInput(ctx context.Context, input string, args ...string) (string, error) {
	return k.run(ctx, filepath.Join(k.Root, "_output/lab/bin/kubectl"), strings.NewReader(input),
		append([]string{"--kubeconfig", k.Kubeconfig()}, args...)...)
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
	// Descendants may hold the pipes open after the program itself has gone.
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// Connect makes the clients of a running lab.
func (k *Kit) Connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read the lab's kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 100, 200
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, operatorv1.AddToScheme, networkoperatorv1.AddToScheme, networkv1.AddToScheme,
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

// Poll calls a function until it succeeds, and returns its last error when the time is up. It waits four times as long as a
// call took, within bounds: checks that run commands must not take the processor from what they wait for.
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
		// A call cut short by the deadline says less than the one before it.
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

// addIngressController registers the one kind of OpenShift's group operator.openshift.io that suites use; Network is this
// project's own there.
func addIngressController(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(osv1.GroupVersion, &osv1.IngressController{}, &osv1.IngressControllerList{})
	return nil
}
