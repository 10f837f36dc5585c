package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// ownImage is the variable of the operator's image, which keeps the pod of a cleaned node running.
const ownImage = facts.OperatorImage

// agentSet is a DaemonSet that changes nodes, and the DaemonSet that cleans them; nil if there is none.
type agentSet struct {
	object
	set, cleaner *appsv1.DaemonSet
}

// cleaners reads DaemonSets and prepares their cleanup before they are deleted.
func (r *remover) cleaners(ctx context.Context, sets []object) ([]agentSet, error) {
	image := r.image(ctx)
	var out []agentSet
	for _, o := range sets {
		l := agentSet{object: o, set: &appsv1.DaemonSet{}}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: o.name}, l.set)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o, err)
		}
		if l.cleaner, err = cleaner(l.set, image); err != nil {
			r.stays = append(r.stays, r.unclean(o, err.Error()))
		}
		if directories := hostDirectories(l.set.Spec.Template.Spec); len(directories) > 0 {
			r.stays = append(r.stays, fmt.Sprintf("on every node, the directories %s of %s, with what its own cleanup does not remove; delete them manually once nothing else uses them", strings.Join(directories, ", "), o))
		}
		out = append(out, l)
	}
	return out, nil
}

// image returns the operator's image according to its published facts; "" if unknown.
func (r *remover) image(ctx context.Context) string {
	var cm corev1.ConfigMap
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: facts.ConfigMapName}, &cm); err != nil {
		return ""
	}
	known, err := facts.Published(cm.Data)
	if err != nil {
		return ""
	}
	return known.Images[ownImage]
}

func hostDirectories(pod corev1.PodSpec) []string {
	var out []string
	for _, v := range pod.Volumes {
		if v.HostPath != nil && v.HostPath.Type != nil && *v.HostPath.Type == corev1.HostPathDirectoryOrCreate {
			out = append(out, v.HostPath.Path)
		}
	}
	slices.Sort(out)
	return out
}

// cleaner returns the DaemonSet that cleans nodes: its init container runs the cleanup command of the first container, then
// the operator's image runs, so that ready pods count clean nodes. It returns nil if there is nothing to clean.
func cleaner(set *appsv1.DaemonSet, image string) (*appsv1.DaemonSet, error) {
	text, ok := set.Annotations[manifest.AnnotationCleanup]
	if !ok {
		return nil, nil
	}
	var command []string
	if err := json.Unmarshal([]byte(text), &command); err != nil {
		return nil, fmt.Errorf("read annotation %s: %w", manifest.AnnotationCleanup, err)
	}
	if image == "" {
		return nil, errors.New("the operator has not reported its image")
	}
	pod := set.Spec.Template.Spec.DeepCopy()
	work := pod.Containers[0]
	work.Name, work.Command, work.Args, work.Ports = "cleanup", command, nil, nil
	work.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	work.LivenessProbe, work.ReadinessProbe, work.StartupProbe = nil, nil, nil
	pod.InitContainers = []corev1.Container{work}
	pod.Containers = []corev1.Container{{Name: "clean", Image: image, ImagePullPolicy: work.ImagePullPolicy, Args: []string{"check-target", "--listen", "127.0.0.1:0"},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError}}
	seconds := int64(1)
	pod.TerminationGracePeriodSeconds = &seconds
	name := set.Name + "-cleanup"
	selector := map[string]string{"app": name}
	all := intstr.FromString("100%")
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: name, Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}},
		Spec: appsv1.DaemonSetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: selector},
			Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector}, Spec: *pod},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &all}},
		},
	}, nil
}

// clean deletes a DaemonSet and cleans its nodes. Unreachable nodes are listed and block nothing.
func (r *remover) clean(ctx context.Context, l agentSet) error {
	r.logf("deleting %s", l.object)
	if err := r.delete(ctx, l.object); err != nil {
		return err
	}
	if err := r.podsGone(ctx, l.namespace, labels.FormatLabels(l.set.Spec.Selector.MatchLabels)); err != nil {
		r.stays = append(r.stays, fmt.Sprintf("pods of %s on nodes that do not answer: they end when the node is back, or its Node object is deleted", l.object))
	}
	if l.cleaner == nil {
		return nil
	}
	r.logf("cleaning the nodes of %s", l.object)
	err := r.create(ctx, l.cleaner)
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		r.stays = append(r.stays, r.unclean(l.object, "its namespace was deleted first, so that no pod can clean nodes"))
		return nil
	}
	if err != nil {
		return err
	}
	last := &appsv1.DaemonSet{}
	err = r.until(ctx, patience, "clean nodes", func() error {
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(l.cleaner), last); err != nil {
			return err
		}
		if s := last.Status; s.ObservedGeneration < last.Generation || s.NumberReady < s.DesiredNumberScheduled {
			return errRemaining
		}
		return nil
	}, isRemaining)
	if err != nil {
		r.stays = append(r.stays, fmt.Sprintf("on %d of %d nodes, what %s created: %s", last.Status.DesiredNumberScheduled-last.Status.NumberReady, last.Status.DesiredNumberScheduled, l.object,
			r.cleanupFailure(ctx, l.cleaner)))
	}
	if ctx.Err() != nil {
		return err
	}
	return r.delete(ctx, object{apps("DaemonSet"), l.cleaner.Namespace, l.cleaner.Name})
}

// cleanupFailure returns why nodes are not clean: the errors of the cleanup by node, or that there was no answer.
func (r *remover) cleanupFailure(ctx context.Context, cleaner *appsv1.DaemonSet) string {
	var pods corev1.PodList
	// Without the list, the general sentence remains.
	_ = r.Client.List(ctx, &pods, client.InNamespace(cleaner.Namespace), client.MatchingLabels(cleaner.Spec.Selector.MatchLabels))
	var failures []string
	for i := range pods.Items {
		for _, s := range pods.Items[i].Status.InitContainerStatuses {
			for _, ended := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
				if ended != nil && ended.ExitCode != 0 {
					failures = append(failures, fmt.Sprintf("on %s: %s", pods.Items[i].Spec.NodeName, lastLine(ended)))
					break
				}
			}
		}
	}
	if len(failures) == 0 {
		return fmt.Sprintf("they did not answer within %s; restart these nodes to remove routes, devices and rules", patience)
	}
	slices.Sort(failures)
	return fmt.Sprintf("the cleanup fails %s; restart these nodes to remove routes, devices and rules", phrase.Clauses(failures, maxNames))
}

// lastLine returns the last line that a container wrote, which has the error of a program that failed.
func lastLine(ended *corev1.ContainerStateTerminated) string {
	text := strings.TrimSpace(ended.Message)
	if text == "" {
		return fmt.Sprintf("it ended with status %d", ended.ExitCode)
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func (r *remover) create(ctx context.Context, set *appsv1.DaemonSet) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		return fmt.Errorf("encode DaemonSet %s: %w", set.Name, err)
	}
	resource, err := r.resource(object{apps("DaemonSet"), set.Namespace, set.Name})
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(apps("DaemonSet"))
	if _, err := resource.Create(ctx, u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create DaemonSet %s: %w", set.Name, err)
	}
	return nil
}

// podsGone waits until no pod with labels exists.
func (r *remover) podsGone(ctx context.Context, namespace, selector string) error {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return err
	}
	return r.until(ctx, patience, "wait for pods to end", func() error {
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: parsed}); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return errRemaining
		}
		return nil
	}, isRemaining)
}
