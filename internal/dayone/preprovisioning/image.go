// Package preprovisioning computes the status of PreprovisioningImages, with which metal3 requests the boot image of a host: the image format, the document,
// the controller that writes the status, and the content of the status. It is pure. Formats, conditions and reasons are those of metal3's API.
package preprovisioning

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of metal3's CRD.
var Kind = schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "PreprovisioningImage"}

// Format is an image format.
type Format string

// The formats of the API.
const (
	ISO    Format = "iso"
	Initrd Format = "initrd"
)

// assistedLabel is the label of objects whose image the assisted installer provides.
const assistedLabel = "infraenvs.agent-install.openshift.io"

// Spec is the spec of a PreprovisioningImage.
type Spec struct {
	// NetworkDataName is the name of the Secret with the document, in the namespace of the object; empty for none.
	NetworkDataName string `json:"networkDataName,omitempty"`
	// Architecture is as uname prints it; empty is any.
	Architecture string `json:"architecture,omitempty"`
	// AcceptFormats are in the order of preference.
	AcceptFormats []Format `json:"acceptFormats,omitempty"`
}

// NetworkData is the version of a Secret.
type NetworkData struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Status is the status of a PreprovisioningImage.
type Status struct {
	ImageURL          string             `json:"imageUrl,omitempty"`
	KernelURL         string             `json:"kernelUrl,omitempty"`
	ExtraKernelParams string             `json:"extraKernelParams,omitempty"`
	Format            Format             `json:"format,omitempty"`
	NetworkData       NetworkData        `json:"networkData,omitempty"`
	Architecture      string             `json:"architecture,omitempty"`
	Conditions        []metav1.Condition `json:"conditions,omitempty"`
}

// Image is a PreprovisioningImage.
type Image struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status"`
}

// Decode decodes an object.
func Decode(object *unstructured.Unstructured) (*Image, error) {
	image := &Image{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, image); err != nil {
		return nil, fmt.Errorf("decode PreprovisioningImage: %w", err)
	}
	return image, nil
}

// Assisted reports whether the assisted installer provides the image.
func (i *Image) Assisted() bool {
	_, ok := i.Labels[assistedLabel]
	return ok
}

// Encode sets the status of an object, and keeps status fields that this package does not know.
func Encode(status Status, into *unstructured.Unstructured) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("encode status of PreprovisioningImage: %w", err)
	}
	old, _, err := unstructured.NestedMap(into.Object, "status")
	if err != nil {
		return fmt.Errorf("read status of PreprovisioningImage: %w", err)
	}
	for name, value := range old {
		if _, exists := fields[name]; !exists && !slices.Contains(known, name) {
			fields[name] = value
		}
	}
	return unstructured.SetNestedMap(into.Object, fields, "status")
}

// known are the fields of Status.
var known = []string{"imageUrl", "kernelUrl", "extraKernelParams", "format", "networkData", "architecture", "conditions"}
