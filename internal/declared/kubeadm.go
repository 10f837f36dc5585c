package declared

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// The ConfigMap in which kubeadm keeps the configuration of a cluster, and its key.
const (
	KubeadmNamespace = "kube-system"
	KubeadmName      = "kubeadm-config"
	KubeadmKey       = "ClusterConfiguration"
)

// The names of the two sources in it, in messages.
const (
	kubeadmSource   = "ConfigMap " + KubeadmNamespace + "/" + KubeadmName + ", key " + KubeadmKey
	KubeadmPods     = kubeadmSource + ", networking.podSubnet"
	KubeadmServices = kubeadmSource + ", networking.serviceSubnet"
)

// clusterConfiguration is the part of kubeadm's ClusterConfiguration that declares addresses, in all versions of its API.
type clusterConfiguration struct {
	Networking struct {
		PodSubnet     string `json:"podSubnet"`
		ServiceSubnet string `json:"serviceSubnet"`
	} `json:"networking"`
	ControllerManager struct {
		ExtraArgs arguments `json:"extraArgs"`
	} `json:"controllerManager"`
}

// arguments are flags without dashes: a mapping, and from v1beta4 a list of names and values, of which the last counts.
type arguments flags

// UnmarshalJSON decodes both forms.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	var list []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if strings.HasPrefix(string(raw), "[") {
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("read controllerManager.extraArgs: %w", err)
		}
		*a = arguments{}
		for _, one := range list {
			(*a)[one.Name] = one.Value
		}
		return nil
	}
	return json.Unmarshal(raw, (*map[string]string)(a))
}

// Kubeadm returns the networks of pods and of Services in a ClusterConfiguration of kubeadm.
func Kubeadm(text string) (ofPods, ofServices Value) {
	var c clusterConfiguration
	err := errTooLong
	if len(text) <= mostBytes {
		err = decode(text, &c)
	}
	if err != nil {
		return Unreadable(KubeadmPods, err), Unreadable(KubeadmServices, err)
	}
	return value(KubeadmPods, c.Networking.PodSubnet, flags(c.ControllerManager.ExtraArgs).block), services(KubeadmServices, c.Networking.ServiceSubnet)
}

// decode reads YAML. Errors of the decoder quote the text, which may be long and have several lines.
func decode(text string, into *clusterConfiguration) error {
	err := yaml.Unmarshal([]byte(text), into)
	if err == nil {
		return nil
	}
	reason := strings.Join(strings.Fields(err.Error()), " ")
	if quoted := quote(reason); quoted != `"`+reason+`"` {
		reason = quoted
	}
	return errors.New("cannot be read: " + reason)
}
