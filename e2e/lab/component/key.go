package component

import (
	"cmp"
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
	files, err := moduleFiles(filepath.Join(b.Modules, c.Module), pinsOf(c))
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

// moduleFiles returns the files of a build module without those that pin other versions than modFile.
func moduleFiles(dir, modFile string) ([]string, error) {
	pins := strings.TrimSuffix(modFile, ".mod")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, isMod := strings.CutSuffix(d.Name(), ".mod")
			name, isSum := strings.CutSuffix(name, ".sum")
			if !isMod && !isSum || name == pins {
				files = append(files, path)
			}
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// pinsOf returns the name of the file that pins the versions of a component's dependencies.
func pinsOf(c Component) string { return cmp.Or(c.ModFile, "go.mod") }
