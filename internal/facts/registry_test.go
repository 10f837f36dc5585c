package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImagesComeFromTheConfiguredRegistry(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	images := Images{"A": "localhost/cno/a:v1", "B": "registry.example:5000/b" + digest, "C": "cno/c:v1", "D": "d", "E": "[fd00::1]:5000/e:v1", "F": ""}
	got, err := images.In("mirror.example:5000/cno/images")
	want := Images{
		"A": "mirror.example:5000/cno/images/cno/a:v1", "B": "mirror.example:5000/cno/images/b" + digest, "C": "mirror.example:5000/cno/images/cno/c:v1",
		"D": "mirror.example:5000/cno/images/d", "E": "mirror.example:5000/cno/images/e:v1", "F": "",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if images["A"] != "localhost/cno/a:v1" {
		t.Errorf("the images that were given have changed: %v", images)
	}
	if got, err = images.In(""); err != nil || !cmp.Equal(images, got) {
		t.Errorf("without a registry: %v %v", got, err)
	}
}

func TestInvalidRegistryIsRefusedWithTheWayOut(t *testing.T) {
	for _, registry := range []string{"https://mirror.example", "mirror.example/", "Mirror.example", "mirror.example/cno:v1", "mirror example", "/cno", "mirror.example//cno"} {
		_, err := Images{"A": "a"}.In(registry)
		if err == nil {
			t.Errorf("%q is accepted", registry)
			continue
		}
		for _, text := range []string{RegistryVariable, registry, "write a host"} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q lacks %q", err, text)
			}
		}
	}
	for _, registry := range []string{"mirror", "10.0.0.1:5000", "[fd00::1]:5000", "mirror.example/a_b/c-d"} {
		if _, err := (Images{"A": "a"}).In(registry); err != nil {
			t.Error(err)
		}
	}
}
