package signer

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheOptions selects the requests of this signer for the controller's own cache.
func cacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&certificatesv1.CertificateSigningRequest{}: {Field: fields.OneTermEqualSelector("spec.signerName", SignerName), Transform: trim},
	}
}

// trim reduces finished requests to their result.
func trim(o any) (any, error) {
	csr, ok := o.(*certificatesv1.CertificateSigningRequest)
	if !ok {
		return o, nil
	}
	csr.ManagedFields = nil
	if !Finished(csr) {
		return csr, nil
	}
	kept := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: csr.Name, UID: csr.UID, ResourceVersion: csr.ResourceVersion},
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: SignerName},
	}
	for _, c := range csr.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: c.Type})
	}
	if len(csr.Status.Certificate) > 0 {
		kept.Status.Certificate = []byte{0}
	}
	return kept, nil
}
