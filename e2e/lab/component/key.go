package component

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// keyLength is the length of the prefix of a hash that distinguishes the builds of a program.
const keyLength = 12

// key returns a hash of all inputs of a build: the build module's files, the
// flags, the Go release and the platform. Sums pin the required modules.
func (b Builder) key(c Component) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, b.arch())
	fmt.Fprintln(h, strings.Join(append(buildEnv(), goArgs(c, "")...), "\n"))
	files, err := moduleFiles(filepath.Join(b.Modules, c.Module))
	if err != nil {
		return "", fmt.Errorf("read the build module of %s: %w", c.Name, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read the build module of %s: %w", c.Name, err)
		}
		fmt.Fprintln(h, filepath.Base(file), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:keyLength], nil
}

func moduleFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}
