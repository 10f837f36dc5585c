package preprovisioning

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/dayone/metal"
)

// Document returns the document of a Secret. It is empty if the Secret has no keys: the host then uses DHCP. A Secret with only other keys is a failure,
// because the intended network configuration would silently be missing.
func Document(secret *corev1.Secret) ([]byte, *Failure) {
	document, ok := secret.Data[metal.SecretKey]
	if !ok && len(secret.Data) > 0 {
		return nil, &Failure{ImageBuildInvalid, fmt.Sprintf("Secret %s has no key %s, only %s",
			secret.Name, metal.SecretKey, strings.Join(slices.Sorted(maps.Keys(secret.Data)), ", "))}
	}
	return document, nil
}
