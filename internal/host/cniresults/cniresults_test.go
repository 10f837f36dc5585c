package cniresults_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/libcni"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/cniresults"
)

// TestPodsOfCachedResults has libcni itself write the files, with a plugin that answers as bridge does.
func TestPodsOfCachedResults(t *testing.T) {
	plugins, cache := t.TempDir(), t.TempDir()
	plugin := "#!/bin/sh\ncat > /dev/null\necho '" + `{"cniVersion": "1.0.0", "interfaces": [{"name": "cni0"}, {"name": "veth'$CNI_CONTAINERID'"}, {"name": "eth0", "sandbox": "/run/netns/x"}]}` + "'\n"
	if err := os.WriteFile(filepath.Join(plugins, "answers"), []byte(plugin), 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := libcni.ConfListFromBytes([]byte(`{"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "answers"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	runtime := libcni.NewCNIConfigWithCacheDir([]string{plugins}, cache, nil)
	for id, args := range map[string][][2]string{
		"a": {{"IgnoreUnknown", "1"}, {"K8S_POD_NAMESPACE", "shop"}, {"K8S_POD_NAME", "web"}},
		"b": {{"K8S_POD_NAMESPACE", "shop"}, {"K8S_POD_NAME", "db"}},
		"c": {{"IgnoreUnknown", "1"}}, // not of a pod
	} {
		if _, err := runtime.AddNetworkList(context.Background(), list, &libcni.RuntimeConf{ContainerID: id, NetNS: "/run/netns/x", IfName: "eth0", Args: args}); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(cache, "results")
	for name, text := range map[string]string{"broken": "{", "other": `{"kind": "other"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := cniresults.Pods(dir)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "broken")) || strings.Contains(err.Error(), "other") {
		t.Errorf("error %v, want the one broken file", err)
	}
	// The bridge is in the result of every pod: it is of one of them, and not asked for.
	delete(got, "cni0")
	if diff := cmp.Diff(map[string]string{"vetha": "shop/web", "vethb": "shop/db"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMissingDirectoryHasNoPods(t *testing.T) {
	if got, err := cniresults.Pods(filepath.Join(t.TempDir(), "none")); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
