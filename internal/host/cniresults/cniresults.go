// Package cniresults reads what container runtimes remember of the networks of pods.
package cniresults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is where containerd and CRI-O keep results: it is the default of libcni, the library that both call plugins with.
const Dir = "/var/lib/cni/results"

// mostBytes bounds a file: a result has some hundred bytes, and the configuration that is kept beside it some thousand.
const mostBytes = 1 << 20

// cached is a file of libcni, as far as it is read here.
type cached struct {
	Kind    string      `json:"kind"`
	CNIArgs [][2]string `json:"cniArgs"`
	Result  struct {
		Interfaces []struct {
			Name string `json:"name"`
			// Sandbox is empty for interfaces of the node.
			Sandbox string `json:"sandbox"`
		} `json:"interfaces"`
	} `json:"result"`
}

// kind is that of the files of libcni 0.8 and later.
const kind = "cniCacheV1"

// Pods returns the pods of a directory of results, as namespace/name, by the names of the node's interfaces that plugins made for them. A directory that
// does not exist has none. Files that are of another kind, or that cannot be read, are left out; those that cannot be read are in the error.
func Pods(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results of the container runtime: %w", err)
	}
	out := map[string]string{}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		c, err := read(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the pod has ended meanwhile
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read a result of the container runtime: %w", err))
			continue
		}
		pod := c.pod()
		if pod == "" {
			continue
		}
		for _, i := range c.Result.Interfaces {
			if i.Sandbox == "" {
				out[i.Name] = pod
			}
		}
	}
	return out, errors.Join(errs...)
}

func read(path string) (*cached, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return nil, err
	}
	var c cached
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// pod is namespace/name; empty for what is not of a pod.
func (c *cached) pod() string {
	if c.Kind != kind {
		return ""
	}
	var namespace, name string
	for _, pair := range c.CNIArgs {
		switch pair[0] {
		case "K8S_POD_NAMESPACE":
			namespace = pair[1]
		case "K8S_POD_NAME":
			name = pair[1]
		}
	}
	if namespace == "" || name == "" {
		return ""
	}
	return namespace + "/" + name
}
