package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/libcni"

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
