// Command lab-demo implements make lab: it brings up a cluster without a pod network, installs the operator, creates a Network of the
// type in the environment variable NETWORK, and shows that pods on different nodes communicate by address, by Service and by name.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/networks"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\nThe lab is kept for debugging: see '_output/lab-bin/lab status' and '_output/lab-bin/lab logs'.\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	k, err := kit.New()
	if err != nil {
		return err
	}
	network, err := networks.Find(os.Getenv(networks.Variable))
	if err != nil {
		return err
	}
	start := time.Now()
	if err := kit.Run(ctx, w, network.Install(k)); err != nil {
		return err
	}
	fmt.Fprintf(w, "The cluster and its network of type %s took %s to install.\n\n", network.Name(), time.Since(start).Round(time.Second))
	if err := prove(ctx, w, k); err != nil {
		return err
	}
	name, variable := "", ""
	if k.Name() != "" {
		name, variable = " --name "+k.Name(), k.Variable()+" "
	}
	fmt.Fprintf(w, `
To explore the cluster:
  export KUBECONFIG=%s PATH=$PWD/_output/lab/bin:$PATH
  kubectl get network.operator.openshift.io cluster
  kubectl get pods -A -o wide
  _output/lab-bin/lab%s exec worker-0 -- ip route
  %smake lab-down
`, k.Kubeconfig(), name, variable)
	return nil
}

// prove runs a command for each statement about the network and prints its output.
func prove(ctx context.Context, w io.Writer, k *kit.Kit) error {
	const ns = "lab-demo"
	if err := client.IgnoreAlreadyExists(k.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})); err != nil {
		return err
	}
	labels := map[string]string{"app": "web"}
	var pods []*corev1.Pod
	for _, node := range []string{"worker-0", "worker-1"} {
		pod, err := k.RunPod(ctx, kit.ServerPod(ns, "web-"+node, node, labels))
		if err != nil {
			return err
		}
		pods = append(pods, pod)
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	if err := k.Client.Create(ctx, svc); err != nil {
		return err
	}
	from, to := pods[0], pods[1]
	inPod := func(command string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return k.Exec(ctx, from, command) }
	}
	kubectl := func(args ...string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return k.Kubectl(ctx, args...) }
	}
	for _, p := range []struct {
		statement string
		do        func(context.Context) (string, error)
	}{
		{"The nodes are ready", kubectl("get", "nodes", "-o", "wide")},
		{"A pod on worker-0 reaches a pod on worker-1 by its address", inPod("ping -c2 " + to.Status.PodIP)},
		{"It reaches the Service by its cluster IP", inPod("curl -sS --fail --max-time 3 http://" + svc.Spec.ClusterIP + "/hostname")},
		{"It reaches the Service by its DNS name", inPod("dig +short +search web; curl -sS --fail --max-time 3 http://web/hostname")},
		{"The operator reports its status", kubectl("get", "networks.operator.openshift.io", "cluster")},
	} {
		var out string
		err := kit.Poll(ctx, time.Minute, func(ctx context.Context) (err error) { out, err = p.do(ctx); return err })
		if err != nil {
			return fmt.Errorf("%s: %w", p.statement, err)
		}
		fmt.Fprintf(w, "== %s\n%s\n", p.statement, out)
	}
	return nil
}
