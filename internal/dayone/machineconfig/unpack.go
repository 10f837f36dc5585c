package machineconfig

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/vincent-petithory/dataurl"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// ignition has the used fields of an Ignition configuration of specification 2 or 3.
type ignition struct {
	Ignition struct {
		Version string `json:"version"`
	} `json:"ignition"`
	Storage struct {
		Files []ignitionFile `json:"files"`
	} `json:"storage"`
}

type ignitionFile struct {
	Path     string `json:"path"`
	Contents struct {
		Source      string `json:"source"`
		Compression string `json:"compression"`
	} `json:"contents"`
	// Append appends to a file. In specification 2, it is a boolean, and Contents is appended.
	Append json.RawMessage `json:"append"`
}

// Unpack returns the files below Dir in a set of MachineConfigs, by role. If two objects have the same file, the object with the last name takes precedence, as
// on the node. One error reports all files that cannot be read; the others are returned nevertheless.
func Unpack(configs []mcfgv1.MachineConfig) (map[string]placement.Files, error) {
	sorted := slices.SortedFunc(slices.Values(configs), func(a, b mcfgv1.MachineConfig) int { return strings.Compare(a.Name, b.Name) })
	roles := map[string]placement.Files{}
	var errs []error
	for _, config := range sorted {
		files, err := filesOfConfig(config.Spec.Config.Raw)
		if err != nil {
			errs = append(errs, fmt.Errorf("MachineConfig %s: %w", config.Name, err))
		}
		role := config.Labels[RoleLabel]
		for _, file := range files {
			roles[role] = append(slices.DeleteFunc(roles[role], func(f placement.File) bool { return f.Name == file.Name }), file)
		}
	}
	for role, files := range roles {
		roles[role] = files.Sort()
	}
	return roles, errors.Join(errs...)
}

func filesOfConfig(raw []byte) (placement.Files, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var config ignition
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("decode spec.config: %w", err)
	}
	if v := config.Ignition.Version; !strings.HasPrefix(v, "2.") && !strings.HasPrefix(v, "3.") {
		return nil, fmt.Errorf("spec.config.ignition.version %q is not of specification 2 or 3", v)
	}
	var files placement.Files
	var errs []error
	for i, entry := range config.Storage.Files {
		dir, name := path.Split(path.Clean(entry.Path))
		if path.Clean(dir) != placement.Dir || placement.Hidden(name) {
			continue
		}
		content, err := decodeFile(entry)
		if err != nil {
			errs = append(errs, fmt.Errorf("spec.config.storage.files[%d] (%s): %w", i, entry.Path, err))
			continue
		}
		files = append(files, placement.File{Name: name, Content: content})
	}
	return files, errors.Join(errs...)
}

func decodeFile(entry ignitionFile) ([]byte, error) {
	if a := string(entry.Append); a != "" && a != "null" && a != "false" && a != "[]" {
		return nil, errors.New("adds to a file; write the whole file instead")
	}
	content, err := DecodeSource(entry.Contents.Source)
	if err != nil {
		return nil, err
	}
	switch entry.Contents.Compression {
	case "":
		return content, nil
	case "gzip":
		return uncompress(content)
	}
	return nil, fmt.Errorf("compression %q is not gzip", entry.Contents.Compression)
}

// DecodeSource returns the content of a data URL (RFC 2397), base64 or percent-encoded; nil for no source. Other URLs are an error.
func DecodeSource(source string) ([]byte, error) {
	if source == "" {
		return nil, nil
	}
	if !strings.HasPrefix(source, "data:") {
		scheme, _, _ := strings.Cut(source, ":")
		return nil, fmt.Errorf("the content is at a URL of scheme %q; only data URLs hold it themselves", scheme)
	}
	decoded, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, fmt.Errorf("decode data URL: %w", err)
	}
	return decoded.Data, nil
}

// uncompress returns an error if the result is larger than MaxFileSize.
func uncompress(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, placement.MaxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("uncompress: %w", err)
	}
	if len(plain) > placement.MaxFileSize {
		return nil, fmt.Errorf("uncompressed it has more than %d bytes", placement.MaxFileSize)
	}
	return plain, nil
}
