package preprovisioning

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Writer returns a field manager that owns fields of the status, other than own; empty if there is none. Since the API has no field that selects a controller,
// the one that wrote the status first provides the image.
func Writer(managed []metav1.ManagedFieldsEntry, own string) string {
	for _, m := range managed {
		if m.Manager != own && m.FieldsV1 != nil && ownsStatus(m.FieldsV1.GetRawBytes()) {
			return m.Manager
		}
	}
	return ""
}

// ownsStatus reports whether a set of fields has one below status. It is true for a set that cannot be decoded.
func ownsStatus(raw []byte) bool {
	if !bytes.Contains(raw, []byte(`"f:status"`)) {
		return false
	}
	var fields struct {
		Status map[string]json.RawMessage `json:"f:status"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return true
	}
	delete(fields.Status, ".")
	return len(fields.Status) > 0
}
