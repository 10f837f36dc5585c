package archtest

import (
	"os"
	"regexp"
	"testing"
)

func TestMakeListsEveryTargetThatHasADescription(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	help := regexp.MustCompile(`/(\^\[[^\]]+\]\+:\.\*## )/`).FindSubmatch(makefile)
	if help == nil {
		t.Fatal("the pattern of the target help is not found")
	}
	listed := regexp.MustCompile(string(help[1]))
	for _, target := range regexp.MustCompile(`(?m)^[^\s#.]\S*:.*## .*$`).FindAll(makefile, -1) {
		if !listed.Match(target) {
			t.Errorf("make help leaves out: %s", target)
		}
	}
}
