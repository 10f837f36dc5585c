package kit

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// images returns the arguments of lab up for the images that the lab needs: those of the checkout, except images of other networks and
// base images, and those of the overlay.
func (k *Kit) images() ([]string, error) {
	tars, err := filepath.Glob(filepath.Join(k.Root, "_output/images/*.tar"))
	if err != nil {
		return nil, err
	}
	if len(tars) == 0 {
		return nil, fmt.Errorf("no images in _output/images; run make images")
	}
	unneeded, err := k.unneeded()
	if err != nil {
		return nil, err
	}
	tars = slices.DeleteFunc(tars, func(tar string) bool { return unneeded[strings.TrimSuffix(filepath.Base(tar), ".tar")] })
	byName := map[string]string{}
	if k.Overlay != "" {
		overlay, err := filepath.Glob(filepath.Join(k.Overlay, "images/*.tar"))
		if err != nil {
			return nil, err
		}
		tars = append(tars, overlay...)
	}
	for _, tar := range tars {
		byName[filepath.Base(tar)] = tar
	}
	var args []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		args = append(args, "--image="+byName[name])
	}
	return args, nil
}

// unneeded returns the names of the images of the checkout that the lab does not need.
func (k *Kit) unneeded() (map[string]bool, error) {
	names, err := bases(filepath.Join(k.Root, "images"))
	if err != nil {
		return nil, err
	}
	needed, registry := map[string]bool{}, networks.Registry()
	// Components run with any network, also those that share an image with a network.
	for _, c := range registry.Components {
		if owner, ok := c.(provider.OperandOwner); ok {
			for _, i := range owner.Operands().Images {
				needed[i.Name] = true
			}
		}
	}
	for _, p := range registry.Providers {
		owner, ok := p.(provider.OperandOwner)
		if !ok {
			continue
		}
		for _, i := range owner.Operands().Images {
			if p.Traits().Type == cmp.Or(k.Type, operatorv1.NetworkTypeFlannel) {
				needed[i.Name] = true
			} else {
				names[i.Name] = true
			}
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return needed[name] })
	return names, nil
}

// bases returns the names of the base images of other images.
func bases(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "image.yaml"))
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		definition, err := image.ParseDefinition(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if definition.Base != "" {
			found[definition.Base] = true
		}
	}
	return found, nil
}
