package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/e2e/lab/image"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// imagesNamespace is where the container runtime keeps the images of pods.
const imagesNamespace = "k8s.io"

// LoadImages imports docker-archives into every node that is on and does not
// have them yet, and returns how many imports were made.
func (l *Lab) LoadImages(ctx context.Context, paths []string) (int, error) {
	archives := make([]image.Archive, len(paths))
	for i, path := range paths {
		a, err := image.ReadArchive(path)
		if err != nil {
			return 0, err
		}
		archives[i] = a
	}
	nodes := l.record.Topology.Nodes
	counts := make([]int, len(nodes))
	group, ctx := errgroup.WithContext(ctx)
	for i, n := range nodes {
		if _, err := l.init(n.Name); err != nil {
			fmt.Fprintf(l.host.Out, "%s: left out: %v\n", n.Name, err)
			continue
		}
		group.Go(func() error {
			count, err := l.load(ctx, n, archives)
			counts[i] = count
			return err
		})
	}
	err := group.Wait()
	sum := 0
	for _, c := range counts {
		sum += c
	}
	return sum, err
}

// loadDefaultImages imports the lab's own images as soon as the node's
// container runtime answers.
func (l *Lab) loadDefaultImages(ctx context.Context, n topology.Node) error {
	paths, err := filepath.Glob(filepath.Join(l.host.Layout.Images(), "*.tar"))
	if err != nil {
		return fmt.Errorf("list the images: %w", err)
	}
	var archives []image.Archive
	for _, path := range paths {
		a, err := image.ReadArchive(path)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	if err := poll(ctx, func() error {
		_, err := l.output(ctx, n.Name, "ctr", "version")
		return err
	}); err != nil {
		return err
	}
	_, err = l.load(ctx, n, archives)
	return err
}

func (l *Lab) load(ctx context.Context, n topology.Node, archives []image.Archive) (int, error) {
	loaded, err := readLoaded(n.Name)
	if err != nil {
		return 0, err
	}
	present, err := l.output(ctx, n.Name, "ctr", "--namespace", imagesNamespace, "images", "list", "--quiet")
	if err != nil {
		return 0, err
	}
	count := 0
	for _, a := range archives {
		if loaded.has(a, strings.Fields(string(present))) {
			continue
		}
		if err := l.importArchive(ctx, n, a.Path); err != nil {
			return count, fmt.Errorf("load %s into %s: %w", a.Path, n.Name, err)
		}
		count++
		for _, ref := range a.References {
			loaded[ref] = a.Digest
		}
	}
	return count, loaded.write(n.Name)
}

func (l *Lab) importArchive(ctx context.Context, n topology.Node, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd, err := l.Command(ctx, n.Name, "ctr", "--namespace", imagesNamespace, "images", "import", "-")
	if err != nil {
		return err
	}
	cmd.Stdin = f
	_, err = outputOf(cmd, "ctr images import")
	return err
}

// loaded remembers, beside the node's disk, which archive gave the node the
// image of each name: the runtime gives images digests of its own.
type loaded map[string]string

func loadedPath(node string) string { return filepath.Join(layout.Disk(node), "images.json") }

func readLoaded(node string) (loaded, error) {
	data, err := os.ReadFile(loadedPath(node))
	if errors.Is(err, fs.ErrNotExist) {
		return loaded{}, nil
	}
	list := loaded{}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read which images %s has: %w", node, err)
	}
	return list, nil
}

func (l loaded) has(a image.Archive, present []string) bool {
	return !slices.ContainsFunc(a.References, func(ref string) bool {
		return l[ref] != a.Digest || !slices.Contains(present, ref)
	})
}

func (l loaded) write(node string) error {
	data, err := json.Marshal(l)
	if err == nil {
		err = os.WriteFile(loadedPath(node), data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("record which images %s has: %w", node, err)
	}
	return nil
}
