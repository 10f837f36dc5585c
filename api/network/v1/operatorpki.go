package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OperatorPKI is a CA and one certificate that it signs, which the operator creates and rotates: the Secrets
// <name>-ca and <name>-cert, and the ConfigMap <name>-ca with the CA certificates to trust. They are deleted with this object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=operatorpkis,scope=Namespaced,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Common Name,type=string,JSONPath=`.spec.targetCert.commonName`,description="The name in the certificate"
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether CA, bundle and certificate are valid"
// +kubebuilder:printcolumn:name=Rotating,type=string,JSONPath=`.status.conditions[?(@.type=="Rotating")].status`,description="Whether the CA is being replaced"
// +kubebuilder:printcolumn:name=CA Expires,type=string,format=date-time,JSONPath=`.status.authority.notAfter`,description="When the CA that signs expires"
// +kubebuilder:printcolumn:name=Certificate Expires,type=string,format=date-time,JSONPath=`.status.certificate.notAfter`,description="When the certificate expires"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
type OperatorPKI struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired certificate.
	Spec OperatorPKISpec `json:"spec"`
	// status is the observed state, and the validity of the certificates.
	// +optional
	Status OperatorPKIStatus `json:"status,omitempty"`
}

// OperatorPKIList is a list of OperatorPKI objects.
//
// +kubebuilder:object:root=true
type OperatorPKIList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []OperatorPKI `json:"items"`
}

// OperatorPKISpec is the desired certificate.
type OperatorPKISpec struct {
	// targetCert is the certificate that the CA signs, for client and server authentication.
	TargetCert CertSpec `json:"targetCert"`

	// rotation configures validity and replacement of the certificates. The defaults suit a cluster.
	// +optional
	Rotation *RotationSpec `json:"rotation,omitempty"`
}

// CertSpec is the content of a certificate.
type CertSpec struct {
	// commonName is the name of the holder, and its subject alternative name: a DNS name or an IP address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CommonName string `json:"commonName"`
}

// RotationSpec configures validity and replacement of the certificates.
type RotationSpec struct {
	// authorityValidity is how long a CA certificate is valid.
	// +kubebuilder:default="87600h"
	// +optional
	AuthorityValidity Duration `json:"authorityValidity,omitempty"`
	// authorityRefresh is the age of a CA at which its successor is created.
	// +kubebuilder:default="78840h"
	// +optional
	AuthorityRefresh Duration `json:"authorityRefresh,omitempty"`
	// certificateValidity is how long the certificate is valid. It is replaced after half of that time.
	// +kubebuilder:default="4380h"
	// +optional
	CertificateValidity Duration `json:"certificateValidity,omitempty"`
	// overlap is how long a new CA is only trusted before it signs: the time in which all clients read the
	// ConfigMap again.
	// +kubebuilder:default="24h"
	// +optional
	Overlap Duration `json:"overlap,omitempty"`
}

// Duration is a duration of ten seconds to thirty years, such as 24h or 90m. Ten seconds is the minimum, because each step of a
// rotation writes Secrets.
//
// +kubebuilder:validation:MaxLength=32
type Duration string

// The types of an OperatorPKI's conditions.
const (
	// ConditionReady is True if CA, bundle and certificate are valid; otherwise the message has the cause.
	ConditionReady = "Ready"
	// ConditionRotating is True while the CA is being replaced; the message has the progress.
	ConditionRotating = "Rotating"
)

// OperatorPKIStatus is the observed state.
type OperatorPKIStatus struct {
	// observedGeneration is the generation of this object to which the status refers.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and Rotating.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// authority is the CA that signs.
	// +optional
	Authority *CertificateStatus `json:"authority,omitempty"`
	// certificate is the certificate in the Secret <name>-cert.
	// +optional
	Certificate *CertificateStatus `json:"certificate,omitempty"`
	// trusted is the number of CA certificates in the ConfigMap: one, or more during a rotation.
	// +optional
	Trusted int32 `json:"trusted,omitempty"`
}

// CertificateStatus is the validity of a certificate.
type CertificateStatus struct {
	// serialNumber is the serial number of the certificate, in hexadecimal.
	SerialNumber string `json:"serialNumber"`
	// notBefore is the begin of its validity.
	NotBefore metav1.Time `json:"notBefore"`
	// notAfter is the end of its validity.
	NotAfter metav1.Time `json:"notAfter"`
	// refresh is when it is replaced.
	Refresh metav1.Time `json:"refresh"`
}
