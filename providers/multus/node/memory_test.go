package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cnishim"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// envDaemon has the test program run the daemon, with the settings in this variable, instead of tests.
const envDaemon = "CNO_TEST_MULTUS_DAEMON"

func TestMain(m *testing.M) {
	if text := os.Getenv(envDaemon); text != "" {
		if err := runDaemonProcess(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	apitest.Main(m, apitest.Options{CRDs: apitest.ReadCRDs("providers/multus/assets/definitions"), WithoutProjectCRDs: true})
}

// daemonProcess are the settings of a daemon that is a process of its own.
type daemonProcess struct {
	Host          string
	CA, Cert, Key []byte
	Config        agentconfig.Config
}

func runDaemonProcess(text string) error {
	var p daemonProcess
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	api := &rest.Config{Host: p.Host, TLSClientConfig: rest.TLSClientConfig{CAData: p.CA, CertData: p.Cert, KeyData: p.Key}, QPS: 100, Burst: 200}
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return err
	}
	definitions, err := dynamic.NewForConfig(api)
	if err != nil {
		return err
	}
	addresses, err := ctrlclient.New(api, ctrlclient.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	return Run(context.Background(), Options{
		Process: agent.Process{Node: "many", Version: "test", Log: slog.New(slog.DiscardHandler)}, Pod: "multus-many", Config: p.Config,
		Client: client, Definitions: definitions, Addresses: addresses,
		Interfaces: func() (Interfaces, error) { return Interfaces{All: []string{"eth0", "eth1"}}, nil },
		Devices: func(context.Context, wire.Pod) (map[string][]string, error) {
			return nil, errors.New("no pod asks for a device")
		},
	})
}

// TestTwoHundredPodsAtOnce: each has a plan and its status, and the daemon, a separate process with a real API server, with the memory limit of its container, stays below 64 MiB.
func TestTwoHundredPodsAtOnce(t *testing.T) {
	const pods, limit = 200, 64 << 20
	s := apitest.Shared(t)
	ns := s.Namespace(t)
	config := processConfig(t, ns)
	s.Create(t, definitionOf(ns, "lan", macvlan))
	made := make([]*corev1.Pod, pods)
	for i := range made {
		made[i] = podOfProcess(ns, fmt.Sprintf("pod-%d", i))
		s.Create(t, made[i])
	}
	daemon := startDaemon(t, s, config)
	ask := func(command string, message any) error {
		return send(t.Context(), config.Socket, command, message, nil)
	}
	of := func(p *corev1.Pod) wire.Pod { return wire.Pod{Namespace: ns, Name: p.Name, UID: string(p.UID)} }
	eventually.Holds(t, "the daemon answers", func() (string, bool) {
		err := ask(wire.CommandPlan, wire.PlanRequest{Pod: of(made[0]), Annotations: networks("lan"), Default: "pods"})
		return fmt.Sprint(err), err == nil
	})
	result := json.RawMessage(`{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"/n"}],"ips":[{"interface":0,"address":"192.0.2.5/24"}]}`)
	errs := make([]error, pods)
	var group sync.WaitGroup
	for i, p := range made {
		group.Go(func() {
			errs[i] = errors.Join(ask(wire.CommandPlan, wire.PlanRequest{Pod: of(p), Annotations: networks("lan"), Default: "pods"}),
				ask(wire.CommandReport, wire.Report{Pod: of(p), Sandbox: p.Name, Default: "pods", Networks: []wire.Network{{Name: ns + "/lan", Interface: "net1", Result: result}}}))
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("pod %d: %v", i, err)
		}
		if err := s.Client.Get(t.Context(), ctrlclient.ObjectKeyFromObject(made[i]), made[i]); err != nil || !strings.Contains(made[i].Annotations[wire.AnnotationStatus], "192.0.2.5") {
			t.Errorf("pod %d has no status: %v", i, err)
		}
	}
	if peak := memory(t, daemon.Process.Pid, "VmHWM"); peak > limit {
		t.Errorf("the daemon took %d MiB, more than %d", peak>>20, limit>>20)
	} else {
		t.Logf("the daemon took %d MiB at most, with the pages of its program", peak>>20)
	}
}

// processConfig is the configuration of a daemon that is a process of its own.
func processConfig(t *testing.T, namespace string) agentconfig.Config {
	t.Helper()
	dir, config := shortDir(t), agentconfig.Default()
	config.Namespace, config.Socket, config.WhereaboutsSocket = namespace, filepath.Join(dir, "m/cni.sock"), filepath.Join(dir, "w/cni.sock")
	config.StateDir, config.AddressDir, config.ConfDir, config.BinDir = filepath.Join(dir, "s"), filepath.Join(dir, "a"), dir, dir
	config.HealthAddress = "127.0.0.1:0"
	return config
}

// podOfProcess is a pod on the node of such a daemon that requests the network lan.
func podOfProcess(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: networks("lan")},
		Spec:       corev1.PodSpec{NodeName: "many", TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "a", Image: "a:1"}}},
	}
}

// startDaemon starts a daemon, which ends with the test.
func startDaemon(t *testing.T, s *apitest.Server, config agentconfig.Config) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(daemonProcess{Host: s.Config.Host, CA: s.Config.CAData, Cert: s.Config.CertData, Key: s.Config.KeyData, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), envDaemon+"="+string(raw), "GOMEMLIMIT=48MiB"), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// send sends a message of the shim to a daemon.
func send(ctx context.Context, socket, command string, message, into any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	call := cnishim.Call{Program: "multus-shim", Stdin: strings.NewReader(""), Stdout: io.Discard}
	answer, err := call.Send(ctx, socket, cniproto.Request{Version: cniproto.Version, ID: cnishim.RequestID(), Command: command, Config: raw, Timeout: time.Minute})
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// shortDir is a directory in which the names of sockets are short enough for the kernel.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/run", "cnom") //nolint:usetesting // the names of sockets would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// memory returns a figure that the kernel keeps about the memory of a process, in bytes.
func memory(t *testing.T, pid int, figure string) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, is := strings.CutPrefix(line, figure+":"); is {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("the kernel does not report %s: %s", figure, raw)
	return 0
}

// TestDaemonIsSmallAtRest: what the start needed is returned to the kernel.
func TestDaemonIsSmallAtRest(t *testing.T) {
	s := apitest.Shared(t)
	config := processConfig(t, s.Namespace(t))
	daemon := startDaemon(t, s, config)
	eventually.Holds(t, "the daemon has released its memory", func() (string, bool) {
		_, err := os.Stat(config.WhereaboutsSocket)
		now, peak := memory(t, daemon.Process.Pid, "VmRSS"), memory(t, daemon.Process.Pid, "VmHWM")
		return fmt.Sprintf("%d MiB of %d, %v", now>>20, peak>>20, err), err == nil && 3*now < 2*peak
	})
}
