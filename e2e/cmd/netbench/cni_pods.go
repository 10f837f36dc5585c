package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/containernetworking/cni/libcni"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// sandbox returns the name of the sandbox of the pod with a number.
func sandbox(i int) string { return "netbench-" + strconv.Itoa(i) }

// pods has pods of the node.
type pods struct {
	// Pods must exist in the cluster because networks assign addresses to pods, and the node's daemon reads their annotations.
	Pods []pod
	// Lists are the CNI configurations of the further networks that each pod requests, for the floor.
	Lists []json.RawMessage
	// Kubeconfig is the path of the kubeconfig with which the floor writes an annotation of a pod, and Server the URL of the API server on the node's network.
	Kubeconfig, Server string
}

type pod struct {
	Namespace, Name, UID string
	// Annotation is the value of the annotation that requests networks. If it is empty, the pod has no such annotation.
	Annotation string
	// Runtime are the values of capabilities with which the floor invokes the plugins of each further network.
	Runtime []map[string]any
}

// writer returns the request to the API with which the floor stores a result: a patch of the status of the pod with a number, over a persistent connection.
func (p *pods) writer() (func(ctx context.Context, i int) error, error) {
	config, err := clientcmd.BuildConfigFromFlags(p.Server, p.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, i int) error {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"netbench":"%d"}}}`, time.Now().UnixNano())
		_, err = client.CoreV1().Pods(p.Pods[i].Namespace).Patch(ctx, p.Pods[i].Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	}, nil
}

func readPods(file string) (*pods, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &pods{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	if len(p.Pods) == 0 {
		return nil, fmt.Errorf("%s has no pods", file)
	}
	return p, nil
}

// runtimeConf returns the parameters that a runtime passes for the sandbox of a pod.
func (p *pods) runtimeConf(i int, path string) *libcni.RuntimeConf {
	conf := &libcni.RuntimeConf{ContainerID: sandbox(i), NetNS: path, IfName: "eth0"}
	pod := p.Pods[i]
	conf.Args = [][2]string{{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", pod.Namespace}, {"K8S_POD_NAME", pod.Name}, {"K8S_POD_UID", pod.UID}, {"K8S_POD_INFRA_CONTAINER_ID", conf.ContainerID}}
	annotations := map[string]string{}
	if pod.Annotation != "" {
		annotations[wire.AnnotationNetworks] = pod.Annotation
	}
	conf.CapabilityArgs = map[string]any{delegate.CapabilityAnnotations: annotations}
	return conf
}
