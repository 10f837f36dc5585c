package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// countInterval is the minimum time between reports that differ only in the number of pods, which changes often.
const countInterval = time.Minute

// reportNode reports the node's missing prerequisites of definitions, and the number of pods on additional networks, in the annotation of the daemon's pod. It
// writes only changes, and nothing before definitions have been read.
func (d *daemon) reportNode(ctx context.Context) error {
	if !d.objects.synced() {
		return nil
	}
	interfaces, err := d.Interfaces()
	if err != nil {
		return fmt.Errorf("find the interfaces of the node: %w", err)
	}
	definitions := d.objects.checked(d.Log)
	var all []finding.Checked
	for _, c := range definitions {
		all = append(all, c)
	}
	has := func(plugin string) bool {
		info, err := os.Stat(filepath.Join(d.Config.BinDir, plugin))
		return err == nil && info.Mode().IsRegular()
	}
	report := finding.NewReport(all, has, interfaces.All)
	report.Instances = instances(d.objects.listed(), definitions)
	text, err := report.Encode()
	if err != nil || !due(d.reported, text, time.Since(d.reportedAt)) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{finding.Annotation: text}}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	if _, err := d.Client.CoreV1().Pods(d.Config.Namespace).Patch(ctx, d.Pod, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("report about the node in pod %s/%s: %w", d.Config.Namespace, d.Pod, err)
	}
	d.reported, d.reportedAt = text, time.Now()
	return nil
}

// due reports whether a report must be written.
func due(last, next string, since time.Duration) bool {
	if last == next {
		return false
	}
	before, known := finding.Decode(last)
	after, _ := finding.Decode(next)
	return !known || since >= countInterval || !slices.Equal(before.Plugins, after.Plugins) || !slices.Equal(before.Interfaces, after.Interfaces)
}

// instances returns the number of pods with additional networks by network type, and in total. It omits terminated pods.
func instances(pods []*corev1.Pod, definitions map[string]finding.Checked) map[string]int {
	counts := map[string]int{}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		networks := further(p)
		if len(networks) == 0 {
			continue
		}
		counts[finding.Any]++
		seen := map[string]bool{"": true}
		for _, name := range networks {
			if kind := definitions[name].Type; !seen[kind] {
				seen[kind] = true
				counts[kind]++
			}
		}
	}
	return counts
}

// further returns the additional networks of a pod according to its status.
func further(p *corev1.Pod) []string {
	var entries []networkStatus
	if json.Unmarshal([]byte(p.Annotations[wire.AnnotationStatus]), &entries) != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if !e.Default {
			names = append(names, e.Name)
		}
	}
	return names
}
