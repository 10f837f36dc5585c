package kit

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/e2e/lab/activity"
)

// Step is one step of an installation. Title is its description in the output.
type Step struct {
	Title string
	Do    func(context.Context) error
}

// Run runs steps in order, and prints how long each took. It stops at the first error.
func Run(ctx context.Context, w io.Writer, steps []Step) error {
	for i, s := range steps {
		if err := s.run(ctx, w, fmt.Sprintf("[%d/%d] ", i+1, len(steps))); err != nil {
			return fmt.Errorf("%s: %w", s.Title, err)
		}
	}
	return nil
}

// run runs one step. If the step takes long, run prints lines with what the step is waiting for, and then repeats its description.
func (s Step) run(ctx context.Context, w io.Writer, number string) error {
	start, prefix := time.Now(), ""
	fmt.Fprintf(w, "%s%s ...", number, s.Title)
	var step activity.Step
	stop := step.Watch(func(line string) {
		if prefix == "" {
			prefix = number + s.Title + " ..."
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "      %s\n", line)
	})
	err := step.Do(ctx, "running", s.Do)
	stop()
	failed := ""
	if err != nil {
		failed = " failed after"
	}
	fmt.Fprintf(w, "%s%s %s\n", prefix, failed, time.Since(start).Round(100*time.Millisecond))
	return err
}

// Install returns the steps that create a lab with a settled network. The arguments are those of lab up.
func (k *Kit) Install(sample string, up ...string) []Step {
	return append(k.Bare(up...),
		Step{"apply config/samples/" + sample, func(ctx context.Context) error { return k.ApplySample(ctx, sample) }},
		Step{"wait until the network is available and every node ready", func(ctx context.Context) error {
			return k.WaitSettled(ctx, 4*time.Minute)
		}},
	)
}

// Bare returns the steps that create a lab with the operator but without a Network. The arguments are those of lab up.
func (k *Kit) Bare(up ...string) []Step { return k.BareWith(k.InstallOperator, up...) }

// OpenShift returns the steps that create a lab that resembles an OpenShift cluster, with a settled network that is configured by
// Network.config alone. The arguments are additional ones of lab up.
func (k *Kit) OpenShift(up ...string) []Step {
	install := func(ctx context.Context) error { return k.InstallFrom(ctx, "lab-openshift") }
	return append(k.BareWith(install, append([]string{"--openshift"}, up...)...),
		Step{"wait until the network is available and every node ready", func(ctx context.Context) error {
			return k.WaitSettled(ctx, 4*time.Minute)
		}},
	)
}

// BareWith is Bare with another way to install the operator.
func (k *Kit) BareWith(install func(context.Context) error, up ...string) []Step {
	return []Step{
		{"remove the previous lab", func(ctx context.Context) error { _, err := k.Lab(ctx, "down"); return err }},
		{"bring up a cluster without a pod network", func(ctx context.Context) error {
			images, err := k.images()
			if err != nil {
				return err
			}
			if _, err := k.Lab(ctx, slices.Concat([]string{"up"}, images, up)...); err != nil {
				return err
			}
			return k.Connect()
		}},
		{"install the operator", install},
	}
}

// Namespace creates a namespace for one test, and deletes it when the test ends.
func (k *Kit) Namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := k.Client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := k.Client.Delete(ctx, ns); err != nil {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// Eventually fails the test if f does not succeed within the limit. The promise names the expectation in the failure.
func Eventually(t testing.TB, limit time.Duration, promise string, f func(context.Context) error) {
	t.Helper()
	if err := Poll(t.Context(), limit, f); err != nil {
		t.Fatalf("%s: %v", promise, err)
	}
}

// ServerOnEachNode runs a server pod on every node, and returns the pods by node name.
func (k *Kit) ServerOnEachNode(t testing.TB, namespace string, labels map[string]string) map[string]*corev1.Pod {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := k.Client.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	pods := map[string]*corev1.Pod{}
	for _, n := range nodes.Items {
		pod, err := k.RunPod(t.Context(), ServerPod(namespace, "server-"+n.Name, n.Name, labels))
		if err != nil {
			t.Fatal(err)
		}
		pods[n.Name] = pod
	}
	return pods
}

// Talk makes a pod send ten echo requests and ten HTTP requests a second to an address of a server pod, and as many HTTP requests to further URLs,
// once these respond: a new Service does not on each node at once. The returned function stops them, and fails the test if a request was lost.
func (k *Kit) Talk(t testing.TB, from *corev1.Pod, address string, urls ...string) (end func()) {
	t.Helper()
	for _, url := range urls {
		Eventually(t, time.Minute, url+" responds to "+from.Name, func(ctx context.Context) error {
			_, err := k.Get(ctx, from, url)
			return err
		})
	}
	start := fmt.Sprintf(`nohup ping -n -q -i 0.1 %[1]s >/tmp/ping 2>&1 & echo $! >/tmp/pid
for url in http://%[3]s/hostname %[2]s; do
  nohup sh -c "while ! [ -e /tmp/end ]; do curl -sS -o /dev/null --max-time 20 $url && echo ok || echo lost at \$(date +%%T): $url; sleep 0.1; done" >>/tmp/http 2>&1 &
done`, address, strings.Join(urls, " "), net.JoinHostPort(address, "8080"))
	if _, err := k.Exec(t.Context(), from, start); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		out, err := k.Exec(t.Context(), from, "touch /tmp/end; kill -INT $(cat /tmp/pid); sleep 1; cat /tmp/ping; grep -v ^ok /tmp/http; echo answered: $(grep -c ^ok /tmp/http) lost: $(grep -c ^lost /tmp/http)")
		if err != nil || !strings.Contains(out, " 0% packet loss") || !strings.HasSuffix(out, " lost: 0") {
			t.Errorf("%s to %s: %v\n%s", from.Name, address, err, out)
			return
		}
		t.Logf("%s to %s:\n%s", from.Name, address, out)
	}
}
