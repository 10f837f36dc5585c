package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/controller/preprovisioningimage"
	"github.com/cluster-network-operator/cno/internal/dayone/imageserver"
	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
)

// metal3 has the flags for PreprovisioningImages.
type metal3 struct {
	preprovisioningimage.Settings
	kubeconfig, lease string
}

func (m *metal3) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&m.Namespaces, "preprovisioning-namespace", nil, "a namespace whose PreprovisioningImages (metal3.io) get images; may be repeated")
	f.StringVar(&m.Offering.Architecture, "architecture", architecture(runtime.GOARCH), "the architecture of the base images, as PreprovisioningImages name it")
	f.StringVar(&m.KernelParams, "kernel-params", "", "the extraKernelParams of PreprovisioningImages that get an initramfs")
	f.StringVar(&m.lease, "lease-namespace", "", "the namespace of the lease with which one replica writes the status of PreprovisioningImages")
	f.StringVar(&m.kubeconfig, "kubeconfig", "", "a kubeconfig file; without one, the pod's service account is used")
}

// architecture returns metal3's name for a GOARCH.
func architecture(of string) string {
	switch of {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	default:
		return of
	}
}

// check returns an error if the settings are inconsistent.
func (m *metal3) check(urlKey string) error {
	if len(m.Namespaces) == 0 {
		return nil
	}
	for _, n := range m.Namespaces {
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return fmt.Errorf("--preprovisioning-namespace %q is not a namespace: %s", n, strings.Join(wrong, "; "))
		}
	}
	if urlKey == "" {
		return errors.New("--preprovisioning-namespace needs --url-key-file: the URLs of images stay the same after a restart, and on each replica")
	}
	if m.lease == "" {
		return errors.New("--preprovisioning-namespace needs --lease-namespace; in a pod, pass metadata.namespace by an environment variable: --lease-namespace=$(POD_NAMESPACE)")
	}
	return nil
}

// config returns the controller's configuration without the server.
func (m *metal3) config(server imageserver.Options, interval time.Duration) (preprovisioningimage.Config, error) {
	kube, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		return preprovisioningimage.Config{}, fmt.Errorf("find API server: %w", err)
	}
	node, err := os.Hostname()
	if err != nil {
		return preprovisioningimage.Config{}, fmt.Errorf("read name of host: %w", err)
	}
	c := preprovisioningimage.Config{Settings: m.Settings, Kube: kube, LeaseNamespace: m.lease, Node: node, Now: time.Now, Log: server.Log}
	c.Namespaces, c.Interval = slices.Compact(slices.Sorted(slices.Values(m.Namespaces))), interval
	for format, base := range map[preprovisioning.Format]string{preprovisioning.ISO: server.ISO, preprovisioning.Initrd: server.Initramfs} {
		if base != "" {
			c.Offering.Formats = append(c.Offering.Formats, format)
		}
	}
	slices.Sort(c.Offering.Formats)
	return c, nil
}
