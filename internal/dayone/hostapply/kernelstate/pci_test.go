package kernelstate

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheAddressOnTheBusIsThatOfTheCard(t *testing.T) {
	sys := t.TempDir()
	for name, device := range map[string]string{
		"eno1": "devices/pci0000:00/0000:00:1c.0/0000:07:00.1", "ens3": "devices/pci0000:00/0000:00:03.0/virtio0",
		"usb0": "devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0",
	} {
		if err := os.MkdirAll(filepath.Join(sys, device), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(sys, "class", name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(sys, device), filepath.Join(sys, "class", name, "device")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"eno1": "0000:07:00.1", "ens3": "0000:00:03.0", "usb0": "", "lo": ""} {
		if got := pciAddress(filepath.Join(sys, "class"), name); got != want {
			t.Errorf("%s is at %q, want %q", name, got, want)
		}
	}
}
