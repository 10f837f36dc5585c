package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestAllImagesComeFromOneRegistry(t *testing.T) {
	got, err := images([]string{"FLANNEL_IMAGE=localhost/cno/flannel:v1", "HOME=/", "IMAGE_REGISTRY=mirror.example", "ETCD_IMAGE=quay.io/etcd@sha256:1"})
	if diff := cmp.Diff(facts.Images{"FLANNEL_IMAGE": "mirror.example/cno/flannel:v1", "ETCD_IMAGE": "mirror.example/etcd@sha256:1"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err = images([]string{"FLANNEL_IMAGE=a/b:c"}); err != nil || got["FLANNEL_IMAGE"] != "a/b:c" {
		t.Errorf("without a registry: %v %v", got, err)
	}
	if _, err = images([]string{"IMAGE_REGISTRY=https://mirror.example"}); err == nil || !strings.Contains(err.Error(), "IMAGE_REGISTRY") {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentVariableKeepsConntrack(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "true": true} {
		if got, err := keepConntrackMax(value); got != want || err != nil {
			t.Errorf("%q: %v %v", value, got, err)
		}
	}
	want := `environment variable KUBE_PROXY_KEEP_CONNTRACK_MAX: "yes" is neither true nor false; ` +
		"remove it to have kube-proxy size the connection-tracking tables of nodes"
	if _, err := keepConntrackMax("yes"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestOnlyLabsKeepConntrack(t *testing.T) {
	files, err := filepath.Glob("../../config/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "name: "+keepConntrackVariable+"\n        value: \"true\"\n") {
			got = append(got, file)
		}
	}
	if diff := cmp.Diff([]string{"../../config/lab/kustomization.yaml", "../../config/lab-openshift/kustomization.yaml"}, got); diff != "" {
		t.Error(diff)
	}
}
