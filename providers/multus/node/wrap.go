package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/cniconf"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// wrapperFile has a third party's network configuration wrapped in that of the shim. Container runtimes use the first file by name.
	wrapperFile = "00-multus.conflist"
	// wrapperInterval is how often the wrapped configuration is compared with the third party's file.
	wrapperInterval = time.Second
)

const topicWrapper agent.Topic = "configuration of the pod network"

// reasonBypassed: the runtime started a pod before it used the shim.
const reasonBypassed = "NetworksNotAttached"

// wrapper configures container runtimes to use the shim for pods of a third party's network. Its file stays when the daemon ends, so that pods never start
// without their requested networks while the daemon is unavailable.
type wrapper struct{ dir string }

// apply writes the third party's first configuration, wrapped in that of the shim. It removes the file if the third party uses the shim itself.
func (w wrapper) apply() error {
	own := cniconf.File{Dir: w.dir, Name: wrapperFile}
	if err := durable.Clean(filepath.Join(w.dir, wrapperFile)); err != nil {
		return err
	}
	first, content, err := w.first()
	if err != nil {
		return err
	}
	if first == "" {
		if _, err := os.Lstat(filepath.Join(w.dir, wrapperFile)); err == nil {
			return fmt.Errorf("the pod network has no CNI configuration in %s any more; its last one stays active as %s", w.dir, wrapperFile)
		}
		return fmt.Errorf("the pod network has no CNI configuration in %s yet", w.dir)
	}
	if delegate.Wrapped(content) {
		return own.Remove()
	}
	wrapped, err := delegate.Wrap(content)
	if err != nil {
		return fmt.Errorf("%s: %w", first, err)
	}
	// The init container has installed the shim.
	if err := own.Write(wrapped, ""); err != nil {
		return err
	}
	earlier, err := own.Conflicting()
	if err == nil && len(earlier) > 0 {
		err = fmt.Errorf("container runtimes read %s before %s, so that pods start without further networks; have the pod network use a name that is later in the alphabet", strings.Join(earlier, ", "), wrapperFile)
	}
	return err
}

// first returns the first file of a third party that runtimes would use; they skip invalid files. name is empty if there is none.
func (w wrapper) first() (name string, content []byte, err error) {
	entries, err := os.ReadDir(w.dir) // sorted by name
	if err != nil {
		return "", nil, fmt.Errorf("read directory of CNI configurations: %w", err)
	}
	for _, e := range entries {
		if e.Name() == wrapperFile || !slices.Contains(cniconf.Extensions, filepath.Ext(e.Name())) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(w.dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a dangling link, or a file that is being replaced
		}
		if err != nil {
			return "", nil, fmt.Errorf("read CNI configuration: %w", err)
		}
		if _, err := delegate.Wrap(raw); err == nil || delegate.Wrapped(raw) {
			return e.Name(), raw, nil
		}
	}
	return "", nil, nil
}

// remove removes the file, so that runtimes use the third party's again.
func (w wrapper) remove() error {
	raw, err := os.ReadFile(filepath.Join(w.dir, wrapperFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !delegate.Wrapped(raw) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read CNI configuration: %w", err)
	}
	return cniconf.File{Dir: w.dir, Name: wrapperFile}.Remove()
}

// maintainWrapper keeps the file up to date until the context ends.
func (d *daemon) maintainWrapper(ctx context.Context) {
	w := wrapper{d.Config.ConfDirRuntime}
	agent.Loop{
		Apply: func(context.Context) error {
			err := w.apply()
			d.board.Note(topicWrapper, err)
			d.board.Update(func(s *status) bool {
				before := *s
				s.wrapped = s.wrapped || err == nil
				return *s != before
			})
			return err
		},
		Interval: wrapperInterval, Now: time.Now, Beat: &agent.Beat{},
	}.Run(ctx)
}

// reportBypassed reports pods with requested networks that the runtime has started without the shim, before the configuration was wrapped.
func (d *daemon) reportBypassed(started map[string]*corev1.Pod) {
	current := map[types.UID]bool{}
	for _, p := range started {
		if strings.TrimSpace(p.Annotations[wire.AnnotationNetworks]) == "" && strings.TrimSpace(p.Annotations[wire.AnnotationDefault]) == "" {
			continue
		}
		current[p.UID] = true
		if !d.bypassed[p.UID] {
			d.events.warn(wire.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, reasonBypassed,
				"The pod started before multiple networks were ready on its node, and has none of the networks that it asks for; delete it to have it started again")
		}
	}
	d.bypassed = current
}
