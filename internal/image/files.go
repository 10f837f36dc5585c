package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// filesTree is the layer of the files of this machine. All mistakes are reported at once.
func filesTree(files []File) (tree, error) {
	t := tree{}
	var errs []error
	for _, f := range files {
		e, err := f.entry()
		if err != nil {
			errs = append(errs, fmt.Errorf("file %q of the image: %w", f.Path, err))
			continue
		}
		t.add(f.Path, e)
	}
	return t, errors.Join(errs...)
}

func (f File) entry() (entry, error) {
	if !path.IsAbs(f.Path) {
		return entry{}, errors.New("the path must be absolute")
	}
	switch {
	case f.Link != "" && f.Source == "" && !f.Dir:
		return entry{mode: fs.ModeSymlink | 0o777, link: f.Link}, nil
	case f.Dir && f.Source == "" && f.Link == "":
		mode := f.Mode
		if mode == 0 {
			mode = 0o755
		}
		return entry{mode: fs.ModeDir | mode}, nil
	case f.Source == "" || f.Dir || f.Link != "":
		return entry{}, errors.New("exactly one of a source, a link and a directory must be given")
	}
	info, err := os.Stat(f.Source)
	if err != nil {
		return entry{}, err
	}
	if !info.Mode().IsRegular() {
		return entry{}, fmt.Errorf("%s is not a regular file", f.Source)
	}
	mode := f.Mode
	if mode == 0 {
		mode = info.Mode().Perm()
	}
	return entry{mode: mode, source: f.Source}, nil
}
