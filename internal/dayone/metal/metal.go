// Package metal connects a host's document to the objects of metal3, which boots bare-metal machines: the Secret with the document, and the BareMetalHost
// that refers to it. It also reads these documents from install-configs, for clusters that do not exist yet.
//
// The text of the document is unchanged, including comments. Package preboot checks whether the document can be used before the boot.
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
	// Namespace is OpenShift's namespace of BareMetalHosts and their Secrets.
	Namespace = "openshift-machine-api"
	// SecretKey is the key of the document in the Secret. metal3 ignores other keys.
	SecretKey = "nmstate"
	// secretSuffix is the suffix of the Secret's name after that of the host, as in OpenShift's installer.
	secretSuffix = "-network-config-secret"
	// bmcSuffix is the same for the credentials of the host's management controller.
	bmcSuffix = "-bmc-secret"
	// maxSecret is the API server's limit in bytes.
	maxSecret = corev1.MaxSecretSize
)

// Host is a machine and its network. Fields other than Name may be empty.
type Host struct {
	// Name is the name of the BareMetalHost.
	Name string
	// Role is master or worker, from an install-config.
	Role string
	// Document is NMState's desired state of its network before the first boot; nil for DHCP.
	Document []byte
	// Machine has the machine's management parameters; nil if unknown, as for a separate document.
	Machine *Machine
	// File is the file of the document, for problems.
	File string

	origin origin
}

// Machine has the fields of a machine in an install-config.
type Machine struct {
	BootMACAddress string         `yaml:"bootMACAddress"`
	BootMode       string         `yaml:"bootMode"`
	BMC            BMC            `yaml:"bmc"`
	RootDevice     map[string]any `yaml:"rootDeviceHints"`
	HardwareType   string         `yaml:"hardwareProfile"`
}

// BMC is a management controller. Its user and password are stored in a separate Secret.
type BMC struct {
	Username                       string `yaml:"username"`
	Password                       string `yaml:"password"`
	Address                        string `yaml:"address"`
	DisableCertificateVerification bool   `yaml:"disableCertificateVerification"`
}

// CheckName returns a message for an invalid host name; empty for a valid one.
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

// Secret returns the Secret with a host's document. It fails if the name is invalid, or the document is missing or too large for a Secret.
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

// BareMetalHost returns the host's object. Without a Machine, it only has the field that refers to the Secret, to be applied to an existing BareMetalHost. With
// a Machine, it is complete; the credentials of its management controller are in the Secret <host>-bmc-secret, see BMCSecret.
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

// BMCSecret returns the Secret with the credentials of a host's management controller; nil if they are unknown.
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

// plain converts values of YAML to the types of unstructured Kubernetes objects.
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
