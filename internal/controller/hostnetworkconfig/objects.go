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
	// component is the value of manifest.LabelComponent of all that the loop makes.
	component = "HostNetwork"
	// labelConfig names the HostNetworkConfig that an object is made of.
	labelConfig = "network.operator.openshift.io/host-network-config"
	// courierPrefix begins the names of DaemonSets; the rest is the role.
	courierPrefix = "host-network-"
	// annotationFiles is on DaemonSets whose couriers write into the hosts' directory, and says what: they bring files, or remove
	// what was brought.
	annotationFiles   = "network.operator.openshift.io/files"
	brings, withdraws = "brings", "withdraws"
	// requestDir is the directory on the host for the request, for which host-network-apply.path waits.
	requestDir = "/run/host-network/apply"
	// largestConfigMap is how many bytes of files go into one ConfigMap; the API server takes a MiB of all that it is.
	largestConfigMap = 700 << 10
)

// objects returns what a config becomes. What cannot be made is left out and found in errs, each of which a sentence.
func (c *Controller) objects(w world, config roleConfig, configured []string) (all []object, errs []string) {
	add := func(o manifest.Typed, err error) {
		if err == nil {
			var made manifest.Object
			if made, err = manifest.New(o, manifest.Policy{}); err == nil {
				all = append(all, c.stamped(made, config.Name))
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
			all = append(all, c.stamped(manifest.Object{Object: object}, config.Name))
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
		add(c.courier(role, maps, configured, w.PullSecret))
	}
	if len(config.rendered.Files) > 0 && c.Image == "" && !w.MachineConfigs {
		errs = append(errs, "no image of couriers is known (HOST_NETWORK_IMAGE), so that no file reaches a node")
	}
	before, wrong := c.preBoot(w, config)
	return append(all, before...), append(errs, wrong...)
}

func (c *Controller) stamped(o manifest.Object, config string) object {
	manifest.Stamp(o, component, c.Version)
	labels := o.Object.GetLabels()
	labels[labelConfig] = config
	o.Object.SetLabels(labels)
	return object{Unstructured: o.Object, config: config}
}

// preBoot returns the Secrets of machines, and the field of the BareMetalHosts that are there.
func (c *Controller) preBoot(w world, config roleConfig) (all []object, errs []string) {
	if len(config.rendered.PreBoot) == 0 {
		return nil, nil
	}
	if !w.BareMetalHosts {
		return nil, []string{"phase PreBoot is asked for, and this cluster has no BareMetalHosts; hosts get their first network elsewhere (cno dayone render writes it)"}
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
		all = append(all, c.stamped(made, config.Name))
		named, there := w.Machines[d.BareMetalHost]
		if !there || named == metal.SecretName(d.BareMetalHost) {
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

// configMaps returns the files in as few ConfigMaps as they fit in.
func configMaps(role string, files placement.Files) []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	size := largestConfigMap
	for _, file := range files {
		if size += len(file.Name) + len(file.Content); size > largestConfigMap {
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

// reporter returns the DaemonSet for the nodes of a role, which reports and does nothing else.
func (c *Controller) reporter(role string, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := manifest.Decode[appsv1.DaemonSet](assets, "assets/courier.yaml")
	if err != nil {
		return nil, err
	}
	d.Name = courierPrefix + role
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

// courier returns the DaemonSet for the nodes of a role, which brings the files of ConfigMaps, if there are any, and passes requests to
// apply them.
func (c *Controller) courier(role string, maps, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := c.reporter(role, configured, pullSecret)
	if err != nil {
		return nil, err
	}
	passesRequests(d, role)
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
	d.Annotations[annotationFiles] = brings
	return d, nil
}

// withdrawing returns the DaemonSet of a role that no one asks for any more: it removes what was brought.
func (c *Controller) withdrawing(role string, configured []string, pullSecret string) (*appsv1.DaemonSet, error) {
	d, err := c.reporter(role, configured, pullSecret)
	if err != nil {
		return nil, err
	}
	d.Spec.Template.Spec.Containers[0].Command = append(d.Spec.Template.Spec.Containers[0].Command, "--withdraw")
	// Nothing is lost while there is none on a node, and anyone who waits for all nodes waits shorter.
	all := intstr.FromString("100%")
	d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &all
	d.Annotations[annotationFiles] = withdraws
	mountDocuments(d, false)
	return d, nil
}

// mountDocuments gives couriers the directory of documents on the host.
func mountDocuments(d *appsv1.DaemonSet, readOnly bool) {
	mountHost(d, "documents", placement.Dir, "/host"+placement.Dir, readOnly)
	container := &d.Spec.Template.Spec.Containers[0]
	container.Command = append(container.Command, "--to", "/host"+placement.Dir)
}

// passesRequests gives couriers the requests to the nodes of a role, and the directory of the host for its own. The ConfigMap exists
// only while changes are applied on running nodes; couriers are not restarted for it.
func passesRequests(d *appsv1.DaemonSet, role string) {
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

// nodesOf selects the nodes of a role, as roleOf tells them.
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
		// Of several roles of their own, the first by the alphabet counts; a worker is what has none.
		if other != "master" && other != "worker" && (role == "worker" || other < role) {
			all = append(all, not(other))
		}
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: all}}}
}
