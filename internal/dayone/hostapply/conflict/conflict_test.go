package conflict

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
)

func TestEnabled(t *testing.T) {
	for _, tt := range []struct {
		name  string
		links map[string]string // path: target
		found bool
	}{
		{name: "a host without machine-config operator"},
		{name: "the unit is there, and nothing starts it", links: map[string]string{"usr/lib/systemd/system/" + hostprogram.StockUnit: "x"}},
		{name: "enabled", links: map[string]string{"etc/systemd/system/network-online.target.wants/" + hostprogram.StockUnit: "/etc/systemd/system/" + hostprogram.StockUnit}, found: true},
		{name: "enabled by what comes with the system", links: map[string]string{"usr/lib/systemd/system/kubelet.service.requires/" + hostprogram.StockUnit: "../" + hostprogram.StockUnit}, found: true},
		{name: "masked, though links are left", links: map[string]string{
			"etc/systemd/system/" + hostprogram.StockUnit:                             "/dev/null",
			"etc/systemd/system/network-online.target.wants/" + hostprogram.StockUnit: "/usr/lib/systemd/system/" + hostprogram.StockUnit,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, target := range tt.links {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(target, path); err != nil {
					t.Fatal(err)
				}
			}
			err := Enabled(os.DirFS(dir))
			if (err != nil) != tt.found {
				t.Errorf("got %v", err)
			}
			if err != nil && !strings.Contains(err.Error(), "systemctl mask") {
				t.Errorf("the error names no way out: %v", err)
			}
		})
	}
}
