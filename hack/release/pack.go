package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// packed is a file in an archive.
type packed struct {
	name, source string
	mode         fs.FileMode
}

// create writes a file of the release, and records its sum.
func (b *build) create(name string, write func(io.Writer) error) error {
	path := filepath.Join(b.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if err := write(io.MultiWriter(f, sum)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	b.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return f.Close()
}

// file writes a file of the release.
func (b *build) file(name string, content []byte) error {
	return b.create(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// tarball packs files, with the time of the commit.
func (b *build) tarball(name string, files []packed) error {
	return b.create(name, func(w io.Writer) error {
		zw := gzip.NewWriter(w)
		tw := tar.NewWriter(zw)
		for _, f := range files {
			if err := b.addTar(tw, f); err != nil {
				return err
			}
		}
		if err := tw.Close(); err != nil {
			return err
		}
		return zw.Close()
	})
}

func (b *build) addTar(tw *tar.Writer, f packed) error {
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Name: f.name, Mode: int64(f.mode), Size: info.Size(), ModTime: b.date, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(tw, in)
	return err
}

// zip packs files, with the time of the commit.
func (b *build) zip(name string, files []packed) error {
	return b.create(name, func(w io.Writer) error {
		zw := zip.NewWriter(w)
		for _, f := range files {
			if err := b.addZip(zw, f); err != nil {
				return err
			}
		}
		return zw.Close()
	})
}

func (b *build) addZip(zw *zip.Writer, f packed) error {
	in, err := os.Open(f.source)
	if err != nil {
		return err
	}
	defer in.Close()
	header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: b.date}
	header.SetMode(f.mode)
	out, err := zw.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return err
}

// sum is the SHA-256 sum of a file in hexadecimal.
func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
