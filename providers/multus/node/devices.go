package node

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// podResources is the kubelet's socket for the devices of pods.
const podResources = "unix:///var/lib/kubelet/pod-resources/kubelet.sock"

// assignDevices assigns the devices that the kubelet has allocated to the pod to the networks of a plan that use a resource, in the order of attachment.
func (p *planner) assignDevices(ctx context.Context, plan *wire.Plan) error {
	var using []*wire.Attachment
	if plan.Default != nil {
		using = append(using, plan.Default)
	}
	for i := range plan.Attachments {
		using = append(using, &plan.Attachments[i])
	}
	using = slices.DeleteFunc(using, func(a *wire.Attachment) bool { return a.Resource == "" })
	if len(using) == 0 {
		return nil
	}
	given, err := p.Devices(ctx, p.request.Pod)
	if err != nil {
		return cniproto.Errorf(cniproto.CodeTryAgain, "get the devices of the pod from the kubelet: %v", err)
	}
	var problems []error
	for _, a := range using {
		left := given[a.Resource]
		if len(left) == 0 {
			problems = append(problems, cniproto.Errorf(cniproto.CodeInvalidConfig, "network %s uses a device of the resource %s, and the pod has no further one; request it in the pod's resources", a.Network, a.Resource))
			continue
		}
		a.DeviceID, given[a.Resource] = left[0], left[1:]
		if a.List, err = definition.WithDevice(a.List, a.DeviceID); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return joinErrors(problems)
	}
	return nil
}

// Devices returns the devices that the kubelet has allocated to a pod, by resource. It lists those of all pods: the request for one pod is disabled by default
// in kubelets before 1.34.
func Devices(ctx context.Context, pod wire.Pod) (map[string][]string, error) {
	conn, err := grpc.NewClient(podResources, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to kubelet: %w", err)
	}
	defer func() { _ = conn.Close() }()
	response, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	given := map[string][]string{}
	for _, p := range response.GetPodResources() {
		if p.GetNamespace() != pod.Namespace || p.GetName() != pod.Name {
			continue
		}
		for _, c := range p.GetContainers() {
			for _, d := range c.GetDevices() {
				given[d.GetResourceName()] = append(given[d.GetResourceName()], d.GetDeviceIds()...)
			}
		}
	}
	return given, nil
}
