// Package ignitiontest reads the files of Ignition configurations, for tests.
package ignitiontest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/vincent-petithory/dataurl"
)

// File is a file that a configuration writes onto a host.
type File struct {
	Path    string
	Mode    int // permission bits
	Content []byte
}

// Content returns the content of a data URL, percent-encoded or base64, compressed or not. A resource without a source is empty. Other URLs are an error.
func Content(r types.Resource) ([]byte, error) {
	if r.Source == nil || *r.Source == "" {
		return nil, nil
	}
	if scheme, _, _ := strings.Cut(*r.Source, ":"); !strings.EqualFold(scheme, "data") {
		return nil, fmt.Errorf("the content is not here but at %.100q", *r.Source)
	}
	url, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		return nil, fmt.Errorf("decode data URL: %w", err)
	}
	if r.Compression == nil || *r.Compression == "" {
		return url.Data, nil
	}
	if *r.Compression != "gzip" {
		return nil, fmt.Errorf("the compression %q is unknown: gzip is the only one", *r.Compression)
	}
	zip, err := gzip.NewReader(bytes.NewReader(url.Data))
	if err != nil {
		return nil, fmt.Errorf("uncompress data URL: %w", err)
	}
	content, err := io.ReadAll(zip)
	if err != nil {
		return nil, fmt.Errorf("uncompress data URL: %w", err)
	}
	return content, nil
}

// Files returns the files of a configuration, with their content. It omits files whose content is not in a data URL, and reports them in the error. A file
// without a mode has Ignition's default 0644.
func Files(config types.Config) ([]File, error) {
	var files []File
	var errs []error
	for _, f := range config.Storage.Files {
		content, err := Content(f.Contents)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Path, err))
			continue
		}
		mode := 0o644
		if f.Mode != nil {
			mode = *f.Mode
		}
		files = append(files, File{Path: f.Path, Mode: mode, Content: content})
	}
	return files, errors.Join(errs...)
}
