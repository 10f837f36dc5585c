// Package addon contains the objects that every cluster needs and no component of
// Kubernetes creates: the name server and the published address of the API
// server.
package addon

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	sigyaml "sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

//go:embed assets/*.yaml
var assets embed.FS

// Objects returns the add-ons of a cluster in one YAML stream. The kubeconfig
// contains the address of the API server for nodes and no user.
func Objects(t topology.Topology, kubeconfig []byte) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range []string{"assets/cluster.yaml", "assets/coredns.yaml"} {
		file, err := assets.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		objects, err := decode(file)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		for _, o := range objects {
			fill(o, t, kubeconfig)
			data, err := sigyaml.Marshal(o)
			if err != nil {
				return nil, fmt.Errorf("encode an object of %s: %w", name, err)
			}
			fmt.Fprintf(&out, "---\n%s", data)
		}
	}
	return out.Bytes(), nil
}

// decode is strict: a misspelt field is an error.
func decode(file []byte) ([]runtime.Object, error) {
	decoder := clientgoscheme.Codecs.UniversalDeserializer()
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	var objects []runtime.Object
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		o, _, err := decoder.Decode(doc, nil, nil)
		if err != nil {
			return nil, err
		}
		if err := sigyaml.UnmarshalStrict(doc, o.DeepCopyObject()); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
}

func fill(o runtime.Object, t topology.Topology, kubeconfig []byte) {
	switch o := o.(type) {
	case *corev1.ConfigMap:
		if o.Name == "cluster-info" {
			o.Data = map[string]string{"kubeconfig": string(kubeconfig)}
		}
	case *corev1.Service:
		setAddresses(o, t.NameServer())
	}
}

func setAddresses(s *corev1.Service, addrs []netip.Addr) {
	policy := corev1.IPFamilyPolicySingleStack
	if len(addrs) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	s.Spec.IPFamilyPolicy = &policy
	for _, a := range addrs {
		s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, a.String())
	}
	s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
}
