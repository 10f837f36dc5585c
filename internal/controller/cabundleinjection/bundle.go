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

// Where the certificates come from.
const (
	bundleNamespace = "openshift-config-managed"
	bundleName      = "trusted-ca-bundle"
)

// bundle is what is injected.
type bundle struct {
	hash string
	text string
	// encoded is the text as JSON, which is the same in every request.
	encoded []byte
}

// origin reads the certificates, and keeps the last ones.
type origin struct {
	reader client.Reader

	mu      sync.Mutex
	version string
	bundle  *bundle
	problem string
}

// get returns the certificates, nil if there is nothing to inject; problem says what is wrong with them. It is no problem if
// there are none yet.
func (o *origin) get(ctx context.Context) (b *bundle, problem string, err error) {
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

// decode makes of a ConfigMap what is injected.
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
