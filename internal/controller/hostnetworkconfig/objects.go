package hostnetworkconfig

import (
	"embed"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

//go:embed assets
var assets embed.FS

const (
	// component is the value of manifest.LabelComponent on all objects of the controller.
	component = "HostNetwork"
	// labelConfig is the name of an object's HostNetworkConfig.
	labelConfig = "network.operator.openshift.io/host-network-config"
	// agentPrefix is the prefix of the names of DaemonSets; the role follows.
	agentPrefix = "host-network-"
	// annotationFiles is on DaemonSets whose sync agents write to the hosts' directory: installMode if they install files, removeMode if they
	// remove them.
	annotationFiles         = "network.operator.openshift.io/files"
	installMode, removeMode = "brings", "withdraws"
	// requestDir is the directory on the host for requests, which host-network-apply.path watches.
	requestDir = "/run/host-network/apply"
	// maxConfigMap is the maximum size of the files in a ConfigMap, in bytes; the API server limits the object to 1 MiB.
	maxConfigMap = 700 << 10
)

// objects returns the objects of a config. errs are messages about objects that cannot be created.
func (c *Controller) objects(w input, config roleConfig, configured []string) (all []object, errs []string) {
	add := func(o manifest.Typed, err error) {
		if err == nil {
			var made manifest.Object
			if made, err = manifest.New(o, manifest.Policy{}); err == nil {
				all = append(all, c.withLabels(made, config.Name))
				return
			}
		}
		errs = append(errs, err.Error())
	}
	role := canonicalRole(config.Spec.Role)
	var maps []string
	switch {
	case len(config.rendered.Files) == 0:
	case w.MachineConfigs:
		object, _, err := machineconfig.Pack(role, config.rendered.Files)
		if err == nil {
			all = append(all, c.withLabels(manifest.Object{Object: object}, config.Name))
		} else {
			errs = append(errs, err.Error())
		}
	default:
		for _, cm := range configMaps(role, config.rendered.Files) {
			maps = append(maps, cm.Name)
			add(cm, nil)
		}
	}
	if len(config.rendered.Files) > 0 && c.Image != "" {
		add(c.agentDaemonSet(role, maps, configured, w.PullSecret))
	}
	if len(config.rendered.Files) > 0 && c.Image == "" && !w.MachineConfigs {
		errs = append(errs, "the image of sync agents is unknown (HOST_NETWORK_IMAGE); no file is installed on nodes")
	}
	before, problems := c.preBoot(w, config)
	return append(all, before...), append(errs, problems...)
}

func (c *Controller) withLabels(o manifest.Object, config string) object {
	manifest.Stamp(o, component, c.Version)
	labels := o.Object.GetLabels()
	labels[labelConfig] = config
	o.Object.SetLabels(labels)
	return object{Unstructured: o.Object, config: config}
}

// preBoot returns the Secrets of machines, and the field of existing BareMetalHosts.
func (c *Controller) preBoot(w input, config roleConfig) (all []object, errs []string) {
	if len(config.rendered.PreBoot) == 0 {
		return nil, nil
	}
	if !w.BareMetalHosts {
		return nil, []string{"phase PreBoot is requested, but BareMetalHosts are not available in this cluster; render the first network of hosts with cno dayone render"}
	}
	for _, d := range config.rendered.PreBoot {
		host := metal.Host{Name: d.BareMetalHost, Document: d.Content}
		secret, err := metal.Secret(host, metal.Namespace)
		var made manifest.Object
		if err == nil {
			made, err = manifest.New(secret, manifest.Policy{})
		}
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		all = append(all, c.withLabels(made, config.Name))
		named, found := w.Machines[d.BareMetalHost]
		if !found || named == metal.SecretName(d.BareMetalHost) {
			continue
		}
		machine, err := metal.BareMetalHost(host, metal.Namespace)
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		all = append(all, object{Unstructured: machine, config: config.Name, shared: true})
	}
	return all, errs
}

// configMaps distributes the files over as few ConfigMaps as possible.
func configMaps(role string, files placement.Files) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	size := maxConfigMap
	for _, file := range files {
		if size += len(file.Name) + len(file.Content); size > maxConfigMap {
			size = len(file.Name) + len(file.Content)
			all = append(all, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("files-%s-%d", role, len(all)), Namespace: nodereport.Namespace},
				Data:       map[string]string{},
			})
		}
		all[len(all)-1].Data[file.Name] = string(file.Content)
	}
	return all
}

// reporterDaemonSet returns the DaemonSet for the nodes of a role without any files.
func (c *Controller) reporterDaemonSet(role string, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := manifest.Decode[appsv1.DaemonSet](assets, "assets/sync.yaml")
	if err != nil {
		return nil, err
	}
	d.Name = agentPrefix + role
	name := map[string]string{"app": d.Name}
	d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = name, name
	spec := &d.Spec.Template.Spec
	spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: nodesOf(role, configured)}}
	if pullSecret != "" {
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: pullSecret}}
	}
	container := &spec.Containers[0]
	container.Image = c.Image
	container.Env = append(container.Env, c.APIServer.Env()...)
	return d, nil
}

// agentDaemonSet returns the DaemonSet for the nodes of a role, which copies the files of ConfigMaps, if there are any, and passes on
// requests to apply them.
func (c *Controller) agentDaemonSet(role string, maps, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := c.reporterDaemonSet(role, configured, pullSecret)
	if err != nil {
		return nil, err
	}
	mountRequests(d, role)
	mountDocuments(d, len(maps) == 0)
	if len(maps) == 0 {
		return d, nil
	}
	spec := &d.Spec.Template.Spec
	container := &spec.Containers[0]
	var sources []corev1.VolumeProjection
	for _, name := range maps {
		sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
	}
	container.Command = append(container.Command, "--from", "/files")
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "files", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "files", MountPath: "/files", ReadOnly: true})
	d.Annotations[annotationFiles] = installMode
	return d, nil
}

// withdrawDaemonSet returns the DaemonSet of an abandoned role, which removes installed files.
func (c *Controller) withdrawDaemonSet(role string, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := c.reporterDaemonSet(role, configured, pullSecret)
	if err != nil {
		return nil, err
	}
	d.Spec.Template.Spec.Containers[0].Command = append(d.Spec.Template.Spec.Containers[0].Command, "--withdraw")
	// All nodes are updated at once, because a missing sync agent does no harm here.
	all := intstr.FromString("100%")
	d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &all
	d.Annotations[annotationFiles] = removeMode
	mountDocuments(d, false)
	return d, nil
}

// mountDocuments mounts the host's directory of documents.
func mountDocuments(d *appsv1.DaemonSet, readOnly bool) {
	mountHost(d, "documents", placement.Dir, "/host"+placement.Dir, readOnly)
	container := &d.Spec.Template.Spec.Containers[0]
	container.Command = append(container.Command, "--to", "/host"+placement.Dir)
}

// mountRequests mounts the requests to the nodes of a role, and the host's directory for them. The ConfigMap is optional, so that sync agents
// are not restarted when it is created or deleted.
func mountRequests(d *appsv1.DaemonSet, role string) {
	const requests, host = "/requests", "/host/apply"
	yes := true
	mountHost(d, "apply", requestDir, host, false)
	spec := &d.Spec.Template.Spec
	container := &spec.Containers[0]
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "requests", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: nodereport.RequestsName(role)}, Optional: &yes}}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "requests", MountPath: requests, ReadOnly: true})
	container.Command = append(container.Command, "--requests", requests+"/"+nodereport.RequestsKey, "--request", host+"/request.json")
}

func mountHost(d *appsv1.DaemonSet, name, directory, at string, readOnly bool) {
	create := corev1.HostPathDirectoryOrCreate
	spec := &d.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: directory, Type: &create}}})
	container := &spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at, ReadOnly: readOnly})
}

// nodesOf selects the nodes for which roleOf returns the role.
func nodesOf(role string, configured []string) *corev1.NodeSelector {
	is := func(role string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: rolePrefix + role, Operator: corev1.NodeSelectorOpExists}
	}
	not := func(role string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: rolePrefix + role, Operator: corev1.NodeSelectorOpDoesNotExist}
	}
	if role == "master" {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{is("master")}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{is("control-plane")}},
		}}
	}
	all := []corev1.NodeSelectorRequirement{not("master"), not("control-plane")}
	if role != "worker" {
		all = append(all, is(role))
	}
	for _, other := range configured {
		// Of several custom roles, the first in alphabetical order counts; a node without one is a worker.
		if other != "master" && other != "worker" && (role == "worker" || other < role) {
			all = append(all, not(other))
		}
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: all}}}
}
