// Package machineconfig packs the files of a role into a MachineConfig, and unpacks files from MachineConfigs. It is pure.
package machineconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

const (
	// RoleLabel is the label with the role of a MachineConfig.
	RoleLabel = "machineconfiguration.openshift.io/role"
	// IgnitionVersion is the version of written configurations: the oldest with gzip that all releases that read these files support.
	IgnitionVersion = "3.2.0"
	// fileMode is 0644. JSON has no octal numbers.
	fileMode = 0o644
	// gzipAbove is the size in bytes from which on a file is compressed. Smaller files remain readable in the object, and compression saves little.
	gzipAbove = 4096
	// MaxSize is the maximum size in bytes of the rendered configuration of a role, due to etcd's limit. The files share it with all other
	// configuration of the role.
	MaxSize = 1572864
	// WarnSize is the size from which on the machine-config operator warns, four fifths.
	WarnSize = MaxSize / 5 * 4
	// plainSize is the size up to which small files are not compressed, a third, since the rest of a role needs space.
	plainSize = MaxSize / 3
)

// Name returns the name of the object of a role.
func Name(role string) string { return "10-br-ex-" + role }

// Pack returns the object that installs files on all nodes of a role, and its size as JSON. The object is deterministic, and has only labels and spec.config,
// so that it can be applied. An object larger than MaxSize is an error.
func Pack(role string, files placement.Files) (*unstructured.Unstructured, int, error) {
	config := ignitionOf(files, gzipAbove)
	if size, err := sizeOf(config); err != nil || size > plainSize {
		config = ignitionOf(files, 0)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": config}}}
	object.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	object.SetName(Name(role))
	object.SetLabels(map[string]string{RoleLabel: role})
	size, err := sizeOf(object.Object)
	if err != nil {
		return nil, 0, err
	}
	if size > MaxSize {
		return nil, size, fmt.Errorf("the MachineConfig of role %s has %d bytes with %d files, and may have %d; split the hosts into more roles, or let them share %s",
			role, size, len(files), MaxSize, placement.ClusterFile)
	}
	return object, size, nil
}

func sizeOf(o map[string]any) (int, error) {
	encoded, err := json.Marshal(o)
	if err != nil {
		return 0, fmt.Errorf("encode MachineConfig: %w", err)
	}
	return len(encoded), nil
}

// ignitionOf returns an Ignition configuration with the files, those larger than a limit compressed if that helps.
func ignitionOf(files placement.Files, limit int) map[string]any {
	entries := make([]any, 0, len(files))
	for _, file := range files.Sort() {
		entries = append(entries, map[string]any{
			"path":      path.Join(placement.Dir, file.Name),
			"mode":      int64(fileMode),
			"overwrite": true,
			"contents":  contentsOf(file.Content, limit),
		})
	}
	return map[string]any{
		"ignition": map[string]any{"version": IgnitionVersion},
		"storage":  map[string]any{"files": entries},
	}
}

// contentsOf encodes a file. It always writes the compression: configurations are merged field by field, so that an uncompressed file would inherit it from a
// file that it replaces.
func contentsOf(content []byte, limit int) map[string]any {
	if len(content) > limit {
		if small := compress(content); len(small) < len(content) {
			return map[string]any{"source": "data:;base64," + base64.StdEncoding.EncodeToString(small), "compression": "gzip"}
		}
	}
	return map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(content), "compression": ""}
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	// A valid level and writes to a buffer cannot fail.
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = w.Write(content)
	_ = w.Close()
	return out.Bytes()
}
