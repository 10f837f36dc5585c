// Package metal connects a host's document to the objects of metal3, which boot bare machines: the Secret that holds the
// document, and the field of the BareMetalHost that names the Secret. It also reads the same documents out of the hosts
// of an install-config, where they are before there is a cluster.
//
// The document stays as it was written: who looks at the Secret finds the words and comments of the one who wrote it.
// Whether it can be used before the boot is the judgement of package preboot.
package metal

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// Namespace is where OpenShift keeps BareMetalHosts and their Secrets.
	Namespace = "openshift-machine-api"
	// SecretKey is the key of the Secret whose value is the document. Under another one it would not be found, and the
	// image built without it.
	SecretKey = "nmstate"
	// secretSuffix makes the name of the Secret of that of the host, as OpenShift's installer does.
	secretSuffix = "-network-config-secret"
	// bmcSuffix does the same for the credentials of the host's management controller.
	bmcSuffix = "-bmc-secret"
	// maxSecret is the API server's limit in bytes.
	maxSecret = corev1.MaxSecretSize
)

// Host is a machine and its network. Only Name is always there; what is not known is empty.
type Host struct {
	// Name is that of the BareMetalHost.
	Name string
	// Role is master or worker, if an install-config says so.
	Role string
	// Document is NMState's desired state of its network before the first boot; nil leaves the network to DHCP.
	Document []byte
	// Machine is how the machine is reached; nil if it is not known, as for a document on its own.
	Machine *Machine
	// File is where the document was read, for problems with it.
	File string

	origin origin
}

// Machine is what an install-config says of a machine, in its words.
type Machine struct {
	BootMACAddress string         `yaml:"bootMACAddress"`
	BootMode       string         `yaml:"bootMode"`
	BMC            BMC            `yaml:"bmc"`
	RootDevice     map[string]any `yaml:"rootDeviceHints"`
	HardwareType   string         `yaml:"hardwareProfile"`
}

// BMC is a management controller. Its user and password go into a Secret of their own.
type BMC struct {
	Username                       string `yaml:"username"`
	Password                       string `yaml:"password"`
	Address                        string `yaml:"address"`
	DisableCertificateVerification bool   `yaml:"disableCertificateVerification"`
}

// CheckName says what is wrong with the name of a host; empty if nothing.
func CheckName(name string) string {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Sprintf("%q cannot be the name of a host: %s", name, strings.Join(wrong, "; "))
	}
	if most := validation.DNS1123SubdomainMaxLength - len(secretSuffix); len(name) > most {
		return fmt.Sprintf("%q cannot be the name of a host: it has %d characters, and the name of its Secret leaves it %d", name, len(name), most)
	}
	return ""
}

// SecretName is the name of the Secret with a host's document.
func SecretName(host string) string { return host + secretSuffix }

// Secret returns the Secret with a host's document. A name that cannot be one, and a document that is too large
// for a Secret or missing, are errors.
func Secret(h Host, namespace string) (*corev1.Secret, error) {
	if wrong := CheckName(h.Name); wrong != "" {
		return nil, fmt.Errorf("%s", wrong)
	}
	if len(h.Document) == 0 {
		return nil, fmt.Errorf("host %s has no document: without a Secret it uses DHCP on every interface; an empty one has the same effect", h.Name)
	}
	if len(h.Document) > maxSecret {
		return nil, fmt.Errorf("the document of host %s has %d bytes: a Secret holds %d", h.Name, len(h.Document), maxSecret)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: SecretName(h.Name), Namespace: namespace},
		Type:       corev1.SecretTypeOpaque,
		StringData: map[string]string{SecretKey: string(h.Document)},
	}, nil
}

// BareMetalHost returns the host's object as far as it is known. Of a document on its own that is the one field that
// names the Secret, to be applied to a BareMetalHost that exists. With a Machine it is complete; the
// credentials of its management controller are in the Secret <host>-bmc-secret, see BMCSecret.
func BareMetalHost(h Host, namespace string) (*unstructured.Unstructured, error) {
	if wrong := CheckName(h.Name); wrong != "" {
		return nil, fmt.Errorf("%s", wrong)
	}
	spec := map[string]any{}
	if len(h.Document) > 0 {
		spec["preprovisioningNetworkDataName"] = SecretName(h.Name)
	}
	if m := h.Machine; m != nil {
		spec["online"] = true
		set(spec, "bootMACAddress", m.BootMACAddress)
		set(spec, "bootMode", m.BootMode)
		set(spec, "hardwareProfile", m.HardwareType)
		if m.RootDevice != nil {
			hints, err := plain(m.RootDevice)
			if err != nil {
				return nil, fmt.Errorf("rootDeviceHints of host %s: %w", h.Name, err)
			}
			spec["rootDeviceHints"] = hints
		}
		if m.BMC.Address != "" {
			bmc := map[string]any{"address": m.BMC.Address, "credentialsName": h.Name + bmcSuffix}
			if m.BMC.DisableCertificateVerification {
				bmc["disableCertificateVerification"] = true
			}
			spec["bmc"] = bmc
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion("metal3.io/v1alpha1")
	object.SetKind("BareMetalHost")
	object.SetName(h.Name)
	object.SetNamespace(namespace)
	return object, nil
}

// BMCSecret returns the Secret with the credentials of a host's management controller, which its BareMetalHost names; nil if
// they are not known.
func BMCSecret(h Host, namespace string) *corev1.Secret {
	m := h.Machine
	if m == nil || m.BMC.Address == "" || m.BMC.Username == "" && m.BMC.Password == "" {
		return nil
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: h.Name + bmcSuffix, Namespace: namespace},
		Type:       corev1.SecretTypeOpaque,
		StringData: map[string]string{"username": m.BMC.Username, "password": m.BMC.Password},
	}
}

// plain returns values of YAML as the types that objects of Kubernetes may have.
func plain(values map[string]any) (map[string]any, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(data, &out)
}

func set(spec map[string]any, key, value string) {
	if value != "" {
		spec[key] = value
	}
}
