// Package conflict detects other services on the host that would apply the same documents.
package conflict

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostprogram"
)

// directories returns the unit directories of systemd, in the order of precedence.
func directories() []string {
	return []string{"etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"}
}

// Enabled returns an error if the machine-config operator's service is enabled, since the two services would undo each other's changes. root is the host's
// root directory; symbolic links in it are not followed.
func Enabled(root fs.FS) error {
	for _, dir := range directories() {
		if target, err := fs.ReadLink(root, path.Join(dir, hostprogram.StockUnit)); err == nil && target == "/dev/null" {
			return nil
		}
	}
	var found []string
	for _, dir := range directories() {
		for _, kind := range []string{"wants", "requires"} {
			names, err := fs.Glob(root, path.Join(dir, "*."+kind))
			if err != nil {
				return fmt.Errorf("look for %s: %w", hostprogram.StockUnit, err)
			}
			for _, name := range names {
				if _, err := fs.Lstat(root, path.Join(name, hostprogram.StockUnit)); err == nil {
					found = append(found, "/"+path.Join(name, hostprogram.StockUnit))
				}
			}
		}
	}
	if slices.Sort(found); len(found) > 0 {
		return fmt.Errorf("%s would apply the same documents (%s): mask it with \"systemctl mask %s\", or do not run this service", hostprogram.StockUnit, found[0], hostprogram.StockUnit)
	}
	return nil
}
