package main

import (
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
