package cabundleinjection

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

// Source of the certificates.
const (
	bundleNamespace = "openshift-config-managed"
	bundleName      = "trusted-ca-bundle"
)

// bundle are the certificates to inject.
type bundle struct {
	hash string
	text string
	// encoded is the text as JSON, which all requests share.
	encoded []byte
}

// bundleSource reads the certificates and caches the last ones.
type bundleSource struct {
	reader client.Reader

	mu      sync.Mutex
	version string
	bundle  *bundle
	problem string
}

// get returns the certificates; nil if there is nothing to inject. problem describes an invalid source. A missing source is not a problem.
func (o *bundleSource) get(ctx context.Context) (b *bundle, problem string, err error) {
	var cm corev1.ConfigMap
	err = o.reader.Get(ctx, client.ObjectKey{Namespace: bundleNamespace, Name: bundleName}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", fmt.Errorf("read trusted certificates: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.version, o.bundle, o.problem = "", nil, ""
		return nil, "", nil
	}
	if cm.ResourceVersion != o.version {
		o.version = cm.ResourceVersion
		o.bundle, o.problem = decode(&cm)
	}
	return o.bundle, o.problem, nil
}

// decode returns the bundle in a ConfigMap, or its problem.
func decode(cm *corev1.ConfigMap) (*bundle, string) {
	text, found := cm.Data[cabundle.Key]
	if !found {
		return nil, "has no key " + cabundle.Key
	}
	if _, err := cabundle.Parse([]byte(text)); err != nil {
		return nil, fmt.Sprintf("key %s: %v", cabundle.Key, err)
	}
	encoded, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Sprintf("key %s: %v", cabundle.Key, err)
	}
	sum := sha256.Sum256([]byte(text))
	return &bundle{hash: hex.EncodeToString(sum[:8]), text: text, encoded: encoded}, ""
}
