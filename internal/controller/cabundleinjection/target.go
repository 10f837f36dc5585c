package cabundleinjection

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

const (
	// InjectLabel is the label that requests injection.
	InjectLabel = "config.openshift.io/inject-trusted-cabundle"
	// markLabel marks a ConfigMap with injected certificates, so that it is found after InjectLabel was removed.
	markLabel, marked = "network.operator.openshift.io/trusted-ca-bundle", "injected"
	// hashAnnotation identifies the injected certificates.
	hashAnnotation = "network.operator.openshift.io/trusted-ca-bundle-hash"
	// ownerAnnotation names the owner of the key for users.
	ownerAnnotation, owner = "openshift.io/owning-component", "Networking / cluster-network-operator"

	// contenderAnnotation only exists in the cache: the other manager of the key.
	contenderAnnotation = "contender"
	// trimmed is the generation of trimmed objects, which no object from the API server has.
	trimmed = -1
)

// trim reduces a ConfigMap to a few hundred bytes: the annotation with the hash is kept if both it and the key are owned by this
// controller. A client that changes a value becomes its manager, so the certificates need not be cached. verify detects clients that use
// this controller's field manager. The cache may call trim repeatedly for the same object.
func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok || m.Generation == trimmed {
		return o, nil
	}
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Generation: trimmed}
	kept.Annotations = map[string]string{}
	owned, contender := owners(m.ManagedFields)
	if hash := m.Annotations[hashAnnotation]; hash != "" && owned.key && owned.hash && m.Labels[markLabel] == marked {
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

// ownedSet are the fields that this controller owns.
type ownedSet struct{ any, key, hash bool }

// fieldSet is the relevant part of a set of managed fields.
type fieldSet struct {
	Data     map[string]any `json:"f:data"`
	Metadata struct {
		Annotations map[string]any `json:"f:annotations"`
	} `json:"f:metadata"`
}

// owners returns the fields that this controller owns, and the name of another manager of the key.
func owners(entries []metav1.ManagedFieldsEntry) (owned ownedSet, contender string) {
	for _, e := range entries {
		var f fieldSet
		if e.FieldsV1 == nil || e.Subresource != "" || json.Unmarshal(e.FieldsV1.GetRawBytes(), &f) != nil {
			continue
		}
		_, key := f.Data["f:"+cabundle.Key]
		_, hash := f.Metadata.Annotations["f:"+hashAnnotation]
		if e.Manager == string(fieldManager) && e.Operation == metav1.ManagedFieldsOperationApply {
			owned = ownedSet{any: true, key: key, hash: hash}
		} else if key {
			contender = strings.Clone(e.Manager)
		}
	}
	return owned, contender
}

// body returns the apply configuration for a ConfigMap, without data if b is nil. The UID prevents the creation of a deleted object.
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
