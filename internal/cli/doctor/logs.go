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
	// logLines and logBytes limit the end of each log that is collected.
	logLines = int64(2000)
	logBytes = 1 << 20
	// mostReady is the maximum number of ready pods of each workload whose logs are collected, mostNotReady that of other pods in each
	// namespace.
	mostReady, mostNotReady = 3, 30
	logsAtOnce              = 8
)

// source is a container whose log is collected.
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

// readLogs collects the logs of all pods of the operator, of pods that are not ready, and of some ready ones.
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
	_ = group.Wait() // each missing log is recorded
}

// sources selects containers, including the previous ones of restarted containers; those of pods that are not ready come first.
func sources(namespace string, pods []map[string]any) []source {
	var logs, failing []source
	readyPods, failingPods := map[string]int{}, 0
	for _, p := range pods {
		o := unstructured.Unstructured{Object: p}
		ready, workload := podReady(p), o.GetLabels()["app"]
		if ready && readyPods[workload] >= mostReady || !ready && failingPods >= mostNotReady {
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
			readyPods[workload]++
			logs = append(logs, all...)
		} else {
			failingPods, failing = failingPods+1, append(failing, all...)
		}
	}
	return slices.Concat(failing, logs)
}

// log reads the end of a log.
func (c *collector) log(ctx context.Context, s source) ([]byte, error) {
	lines := logLines
	stream, err := c.typed.CoreV1.Pods(s.namespace).GetLogs(s.pod, &corev1.PodLogOptions{Container: s.container, Previous: s.previous, TailLines: &lines, Timestamps: true}).Stream(ctx)
	if err != nil {
		if s.previous && strings.Contains(err.Error(), "not found") {
			return nil, nil // the node has deleted it
		}
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	if closing := stream.Close(); err == nil {
		err = closing
	}
	return text, err
}

// containers returns the states of a pod's containers, init containers first.
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
