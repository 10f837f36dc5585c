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

	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/image"
	"github.com/cluster-network-operator/cno/e2e/lab/imagestore"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// imagesNamespace is the containerd namespace of the images of pods.
const imagesNamespace = "k8s.io"

// LoadImages imports docker-archives into every running node that does not have
// them yet, and returns the number of imports.
func (l *Lab) LoadImages(ctx context.Context, paths []string) (int, error) {
	archives, err := readArchives(paths)
	if err != nil {
		return 0, err
	}
	nodes := l.record.Topology.Nodes
	counts := make([]int, len(nodes))
	group, ctx := errgroup.WithContext(ctx)
	for i, n := range nodes {
		if _, err := l.init(n.Name); err != nil {
			fmt.Fprintf(l.host.Out, "%s: skipped: %v\n", n.Name, err)
			continue
		}
		group.Go(func() error {
			count, err := l.load(ctx, n, archives)
			counts[i] = count
			return err
		})
	}
	err = group.Wait()
	sum := 0
	for _, c := range counts {
		sum += c
	}
	return sum, err
}

func readArchives(paths []string) ([]image.Archive, error) {
	archives := make([]image.Archive, len(paths))
	for i, path := range paths {
		a, err := image.ReadArchive(path)
		if err != nil {
			return nil, err
		}
		archives[i] = a
	}
	return archives, nil
}

// defaultImages returns the images that every node of the lab gets: the lab's own
// and those given to Up.
func (l *Lab) defaultImages() ([]image.Archive, error) {
	paths, err := filepath.Glob(filepath.Join(l.host.Layout.Images(), "*.tar"))
	if err != nil {
		return nil, fmt.Errorf("list the images: %w", err)
	}
	return readArchives(append(paths, l.record.Images...))
}

// prepareImages gives a node that is off, and whose container runtime has not run
// yet, the default images.
func (l *Lab) prepareImages(ctx context.Context, n topology.Node) error {
	root, err := machine.DiskPath(l.host.Layout.Disk(n.Name), config.ContainerdRoot)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		return err
	}
	archives, err := l.defaultImages()
	if err != nil {
		return err
	}
	stores := imagestore.Stores{
		Cache: l.host.Layout.Cache, Run: l.host.Layout.Run(), Out: l.host.Out,
		Containerd: l.host.Layout.Program(config.Containerd), Ctr: l.host.Layout.Program("ctr"),
	}
	if err := stores.Fill(ctx, archives, root); err != nil {
		return err
	}
	images := loaded{}
	for _, a := range archives {
		images.add(a)
	}
	return l.writeLoaded(n.Name, images)
}

// loadDefaultImages imports the default images that the node does not have as soon
// as its container runtime answers.
func (l *Lab) loadDefaultImages(ctx context.Context, n topology.Node) error {
	archives, err := l.defaultImages()
	if err != nil {
		return err
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
	loaded, err := l.readLoaded(n.Name)
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
		loaded.add(a)
	}
	return count, l.writeLoaded(n.Name, loaded)
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

// loaded maps the name of each image of a node to the digest of the archive it was
// imported from. It is stored with the node's disk: the runtime's own digests of
// images differ.
type loaded map[string]string

func (l *Lab) loadedPath(node string) string {
	return filepath.Join(l.host.Layout.Disk(node), "images.json")
}

func (l *Lab) readLoaded(node string) (loaded, error) {
	data, err := os.ReadFile(l.loadedPath(node))
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

func (l loaded) add(a image.Archive) {
	for _, ref := range a.References {
		l[ref] = a.Digest
	}
}

func (l loaded) has(a image.Archive, present []string) bool {
	return !slices.ContainsFunc(a.References, func(ref string) bool {
		return l[ref] != a.Digest || !slices.Contains(present, ref)
	})
}

func (l *Lab) writeLoaded(node string, images loaded) error {
	data, err := json.Marshal(images)
	if err == nil {
		err = os.WriteFile(l.loadedPath(node), data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("record which images %s has: %w", node, err)
	}
	return nil
}
