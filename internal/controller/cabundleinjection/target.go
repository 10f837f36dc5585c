package cabundleinjection

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

const (
	// InjectLabel is how a ConfigMap asks for the certificates.
	InjectLabel = "config.openshift.io/inject-trusted-cabundle"
	// markLabel is on a ConfigMap that has them, so that one that no longer asks can be found.
	markLabel, marked = "network.operator.openshift.io/trusted-ca-bundle", "injected"
	// hashAnnotation says which ones it has.
	hashAnnotation = "network.operator.openshift.io/trusted-ca-bundle-hash"
	// ownerAnnotation tells people whose the key is.
	ownerAnnotation, owner = "openshift.io/owning-component", "Networking / cluster-network-operator"

	// contenderAnnotation is on what is kept of a ConfigMap only: who else has written the key.
	contenderAnnotation = "contender"
	// trimmed is the generation of what is kept, which no object has that comes from the API server.
	trimmed = -1
)

// trim keeps of a ConfigMap what is needed to tell whether it has the right certificates, a few hundred bytes: that it
// has the annotation with their hash, and that both this annotation and the key are this loop's. A client that changes a value
// becomes its manager, so that the certificates themselves, a quarter of a megabyte for each ConfigMap, need not be kept. One that uses the name
// of this loop's field manager is found by verify.
// The cache calls it more than once for an object that it has when it starts.
func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok || m.Generation == trimmed {
		return o, nil
	}
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Generation: trimmed}
	kept.Annotations = map[string]string{}
	ours, contender := owners(m.ManagedFields)
	if hash := m.Annotations[hashAnnotation]; hash != "" && ours.key && ours.hash && m.Labels[markLabel] == marked {
		kept.Annotations[hashAnnotation] = strings.Clone(hash)
	}
	if value, ok := m.Annotations[ownerAnnotation]; ok && value != owner {
		kept.Annotations[ownerAnnotation] = "another client"
	}
	if contender != "" {
		kept.Annotations[contenderAnnotation] = contender
	}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: kept}, nil
}

// owned says which fields are this loop's.
type owned struct{ any, key, hash bool }

// ownedFields is the part of a set of fields that matters here.
type ownedFields struct {
	Data     map[string]any `json:"f:data"`
	Metadata struct {
		Annotations map[string]any `json:"f:annotations"`
	} `json:"f:metadata"`
}

// owners returns which fields are this loop's, and the name of another manager that has the key.
func owners(entries []metav1.ManagedFieldsEntry) (ours owned, contender string) {
	for _, e := range entries {
		var f ownedFields
		if e.FieldsV1 == nil || e.Subresource != "" || json.Unmarshal(e.FieldsV1.GetRawBytes(), &f) != nil {
			continue
		}
		_, key := f.Data["f:"+cabundle.Key]
		_, hash := f.Metadata.Annotations["f:"+hashAnnotation]
		if e.Manager == string(fieldManager) && e.Operation == metav1.ManagedFieldsOperationApply {
			ours = owned{any: true, key: key, hash: hash}
		} else if key {
			contender = strings.Clone(e.Manager)
		}
	}
	return ours, contender
}

// body is what is applied to a ConfigMap, and all that this loop has in it: its certificates, or nothing. With the UID it
// never makes one that has gone meanwhile.
func body(m *metav1.PartialObjectMetadata, b *bundle) ([]byte, error) {
	meta := map[string]any{"name": m.Name, "namespace": m.Namespace, "uid": m.UID}
	if b != nil {
		annotations := map[string]string{hashAnnotation: b.hash}
		if _, taken := m.Annotations[ownerAnnotation]; !taken {
			annotations[ownerAnnotation] = owner
		}
		meta["annotations"], meta["labels"] = annotations, map[string]string{markLabel: marked}
	}
	head, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
	if err != nil || b == nil {
		return head, err
	}
	out := make([]byte, 0, len(head)+len(b.encoded)+len(cabundle.Key)+16)
	out = append(out, head[:len(head)-1]...)
	out = append(out, `,"data":{"`+cabundle.Key+`":`...)
	out = append(out, b.encoded...)
	return append(out, "}}"...), nil
}
