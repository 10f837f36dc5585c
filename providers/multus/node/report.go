package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// report writes a pod's networks into its annotation, or an event with the reason of a failure. The annotation is written before the pod starts, so that the
// downward API has it. An error in writing it fails the request, unless the pod has been deleted. If the API server is unreachable, the pod starts and gets
// its status later.
func (d *daemon) report(ctx context.Context, r wire.Report) error {
	if r.Failure != "" {
		d.events.warn(r.Pod, reasonFailed, r.Failure)
		return nil
	}
	pod, err := d.objects.pod(ctx, r.Pod)
	switch {
	case apierrors.IsNotFound(err), errors.Is(err, errOtherPod), unreachable(err):
		return nil
	case err != nil:
		return cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
	}
	if err := d.writeStatus(ctx, pod, r.Networks); err != nil {
		if unreachable(err) {
			d.Log.Warn("deferred the network status of a pod", "namespace", r.Pod.Namespace, "pod", r.Pod.Name, "error", err)
			return nil
		}
		return cniproto.Errorf(cniproto.CodeTryAgain, "write the network status of pod %s/%s: %v", r.Pod.Namespace, r.Pod.Name, err)
	}
	for _, n := range r.Networks {
		if result, err := decodeResult(n.Result); err == nil {
			d.events.added(r.Pod, sentence(n, result))
		}
	}
	return nil
}

// unreachable reports whether the API server did not respond: the error has no status.
func unreachable(err error) bool {
	var status apierrors.APIStatus
	return err != nil && !errors.As(err, &status)
}

// writeStatus writes the annotation of a pod. It ignores a deleted or replaced pod.
func (d *daemon) writeStatus(ctx context.Context, pod *corev1.Pod, networks []wire.Network) error {
	text, err := statusOf(networks)
	if err != nil {
		return err
	}
	if pod.Annotations[wire.AnnotationStatus] == text {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{wire.AnnotationStatus: text},
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = d.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// writeMissing writes the missing statuses of the node's pods: those with only the default network, which start without the daemon, and those that started
// while the API server was unreachable.
func (d *daemon) writeMissing(ctx context.Context) error {
	lacking := map[string]*corev1.Pod{}
	for _, p := range d.objects.listed() {
		_, has := p.Annotations[wire.AnnotationStatus]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil
		if !has && !ended && !p.Spec.HostNetwork && p.Status.PodIP != "" {
			lacking[p.Namespace+"/"+p.Name] = p
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	all, err := d.saved()
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		key := s.Pod.Namespace + "/" + s.Pod.Name
		p, ok := lacking[key]
		if !ok || !isOf(p, s.Pod.UID) {
			continue
		}
		delete(lacking, key)
		if err := d.writeStatus(ctx, p, s.Networks); err != nil {
			errs = append(errs, fmt.Errorf("write the network status of pod %s/%s: %w", p.Namespace, p.Name, err))
		}
	}
	d.reportBypassed(lacking)
	return errors.Join(errs...)
}
