// Package cniresults reads the CNI results that container runtimes cache.
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

// Dir is the directory of the results of containerd and CRI-O, which is the default of libcni.
const Dir = "/var/lib/cni/results"

// maxFileSize is the maximum size of a file in bytes. A result has some hundred bytes, and the configuration in the same file some thousand.
const maxFileSize = 1 << 20

// cached has the fields of a libcni file that this package reads.
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

// kind is the kind of files of libcni 0.8 and later.
const kind = "cniCacheV1"

// Pods returns the pods of a directory of results, as namespace/name, by the names of the node's interfaces that plugins created for them. A missing
// directory has none. Pods skips files of another kind; its error names the files that cannot be read.
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
			continue // the pod has ended in the meantime
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
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil {
		return nil, err
	}
	var c cached
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &c, nil
}

// pod returns namespace/name of the pod; empty if the file does not belong to a pod.
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
