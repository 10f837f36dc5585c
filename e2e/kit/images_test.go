package kit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALabGetsTheImagesOfItsNetwork(t *testing.T) {
	root := t.TempDir()
	overlay := filepath.Join(root, "overlay")
	for path, text := range map[string]string{
		"_output/images/cluster-network-operator.tar": "", "_output/images/flannel.tar": "", "_output/images/etcd.tar": "", "_output/images/base.tar": "",
		"_output/images/kube-proxy.tar": "", "_output/images/sdn.tar": "",
		"overlay/images/cluster-network-operator.tar": "", "overlay/images/further.tar": "",
		"images/derived/image.yaml": "name: derived\nbase: base\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		kit  Kit
		want []string
	}{
		"the default network: without base images": {Kit{Root: root},
			[]string{"_output/images/cluster-network-operator.tar", "_output/images/etcd.tar", "_output/images/flannel.tar", "_output/images/kube-proxy.tar"}},
		"a third party's, with an overlay: images of the same name are replaced": {Kit{Root: root, Type: "Calico", Overlay: overlay},
			[]string{"overlay/images/cluster-network-operator.tar", "overlay/images/further.tar", "_output/images/kube-proxy.tar"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.kit.images()
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, path := range tt.want {
				want = append(want, "--image="+filepath.Join(root, path))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
