package doctor

import (
	"context"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/redact"
)

const (
	// logLines and logBytes are how much of the end of each log is taken.
	logLines = int64(2000)
	logBytes = 1 << 20
	// mostWell is of how many ready pods of each workload logs are taken, mostIll of how many others in each namespace.
	mostWell, mostIll = 3, 30
	logsAtOnce        = 8
)

// source is a container whose log is taken.
type source struct {
	namespace, pod, container string
	previous                  bool
}

func (s source) file() string {
	name := "logs/" + s.namespace + "/" + s.pod + "/" + s.container
	if s.previous {
		name += ".previous"
	}
	return name + ".log"
}

// readLogs takes the logs of all pods of the operator, of pods that are not ready, and of some that are.
func (c *collector) readLogs(ctx context.Context, found *collected) {
	var group errgroup.Group
	group.SetLimit(logsAtOnce)
	for _, ns := range c.namespaces() {
		for _, s := range sources(ns, found.objects[ns+"/pods"]) {
			group.Go(func() error {
				text, err := c.log(ctx, s)
				found.miss(s.file(), err)
				if len(text) > 0 {
					found.mu.Lock()
					defer found.mu.Unlock()
					found.logs[s.file()] = []byte(redact.Text(string(text)))
				}
				return nil
			})
		}
	}
	_ = group.Wait() // each log says itself that it is missing
}

// sources selects containers: those of pods that are not ready first, and what ran before a restart as well.
func sources(namespace string, pods []map[string]any) []source {
	var well, ill []source
	wells, ills := map[string]int{}, 0
	for _, p := range pods {
		o := unstructured.Unstructured{Object: p}
		ready, workload := podReady(p), o.GetLabels()["app"]
		if ready && wells[workload] >= mostWell || !ready && ills >= mostIll {
			continue
		}
		var all []source
		for _, s := range containers(p) {
			name, _ := s["name"].(string)
			restarts, _, _ := unstructured.NestedInt64(s, "restartCount")
			if restarts > 0 {
				all = append(all, source{namespace, o.GetName(), name, true})
			}
			if _, waiting, _ := unstructured.NestedMap(s, "state", "waiting"); !waiting || restarts > 0 {
				all = append(all, source{namespace, o.GetName(), name, false})
			}
		}
		if ready {
			wells[workload]++
			well = append(well, all...)
		} else {
			ills, ill = ills+1, append(ill, all...)
		}
	}
	return slices.Concat(ill, well)
}

// log reads the end of a log.
func (c *collector) log(ctx context.Context, s source) ([]byte, error) {
	lines := logLines
	stream, err := c.typed.CoreV1().Pods(s.namespace).GetLogs(s.pod, &corev1.PodLogOptions{Container: s.container, Previous: s.previous, TailLines: &lines, Timestamps: true}).Stream(ctx)
	if err != nil {
		if s.previous && strings.Contains(err.Error(), "not found") {
			return nil, nil // the node has thrown it away
		}
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	if closing := stream.Close(); err == nil {
		err = closing
	}
	return text, err
}

// containers are the states of a pod's containers, those that prepare it first.
func containers(pod map[string]any) []map[string]any {
	var out []map[string]any
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedSlice(pod, "status", field)
		for _, s := range list {
			if state, ok := s.(map[string]any); ok {
				out = append(out, state)
			}
		}
	}
	return out
}

func podReady(pod map[string]any) bool {
	return condition(pod, "Ready").status == "True"
}
