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

// sandboxes is the prefix of the names of sandboxes; the number of the pod follows.
const sandboxes = "netbench-"

func sandbox(i int) string { return sandboxes + strconv.Itoa(i) }

// further has pods of the node that all request the same further networks.
type further struct {
	// Pods must exist in the cluster because the node's daemon reads their annotations.
	Pods []struct{ Namespace, Name, UID string }
	// Annotation is the value of their annotation that requests networks.
	Annotation string
	// Plugins are the plugin configurations of the networks for the floor, one each.
	Plugins []map[string]any
	// Kubeconfig is the path of the kubeconfig with which the floor writes an annotation of a pod, and Server the URL of the API server on the node's network.
	Kubeconfig, Server string
}

// writer returns the write of the floor, which patches the status of a pod over a persistent connection.
func (f *further) writer() (func(ctx context.Context, id string) error, error) {
	config, err := clientcmd.BuildConfigFromFlags(f.Server, f.Kubeconfig)
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

// setPod adds the arguments that a runtime passes for the pod of a sandbox.
func (f *further) setPod(conf *libcni.RuntimeConf) {
	i, err := strconv.Atoi(strings.TrimPrefix(conf.ContainerID, sandboxes))
	if err != nil || i >= len(f.Pods) {
		return
	}
	pod := f.Pods[i]
	conf.Args = [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", pod.Namespace}, {"K8S_POD_NAME", pod.Name}, {"K8S_POD_UID", pod.UID}, {"K8S_POD_INFRA_CONTAINER_ID", conf.ContainerID}}
	conf.CapabilityArgs = map[string]any{delegate.CapabilityAnnotations: map[string]string{wire.AnnotationNetworks: f.Annotation}}
}
