package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// sandboxes begins the names of sandboxes, and the number of their pod ends them.
const sandboxes = "netbench-"

func sandbox(i int) string { return sandboxes + strconv.Itoa(i) }

// further are pods of the node that ask for further networks, each for the same ones.
type further struct {
	// Pods exist in the cluster: the node's daemon reads their annotations.
	Pods []struct{ Namespace, Name, UID string }
	// Annotation is what they ask for.
	Annotation string
	// Plugins are the configurations of those networks, one plugin each, for the floor.
	Plugins []map[string]any
	// Kubeconfig is a file by which the floor writes an annotation of a pod.
	Kubeconfig string
}

// writer returns the write of the floor: the status of a pod, over a connection that stays open.
func (f *further) writer() (func(ctx context.Context, id string) error, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id string) error {
		i, err := strconv.Atoi(strings.TrimPrefix(id, sandboxes))
		if err != nil {
			return err
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"netbench":"%d"}}}`, time.Now().UnixNano())
		_, err = client.CoreV1().Pods(f.Pods[i].Namespace).Patch(ctx, f.Pods[i].Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}, nil
}

func readFurther(file string) (*further, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &further{}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	return f, nil
}

// ask adds what a runtime says of the pod of a sandbox.
func (f *further) ask(conf *libcni.RuntimeConf) {
	i, err := strconv.Atoi(strings.TrimPrefix(conf.ContainerID, sandboxes))
	if err != nil || i >= len(f.Pods) {
		return
	}
	pod := f.Pods[i]
	conf.Args = [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", pod.Namespace}, {"K8S_POD_NAME", pod.Name}, {"K8S_POD_UID", pod.UID}, {"K8S_POD_INFRA_CONTAINER_ID", conf.ContainerID}}
	conf.CapabilityArgs = map[string]any{delegate.CapabilityAnnotations: map[string]string{wire.AnnotationNetworks: f.Annotation}}
}
