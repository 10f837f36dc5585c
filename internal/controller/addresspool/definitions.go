package addresspool

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// network is a NetworkAttachmentDefinition with a plugin that uses whereabouts.
type network struct {
	// object is the subject of events.
	object *unstructured.Unstructured
	*whereabouts.Config
}

// observeDefinitions reads the definitions that use whereabouts. Invalid ones are skipped, and reported by another controller.
func (c *Controller) observeDefinitions(ctx context.Context, w *observation) error {
	err := c.each(ctx, unstructuredList(kindDefinition), func(o client.Object) {
		u, _ := o.(*unstructured.Unstructured)
		text, _, _ := unstructured.NestedString(u.Object, "spec", "config")
		for _, config := range configs(u.GetName(), text) {
			w.networks = append(w.networks, network{u, config})
		}
	}, client.Limit(pageSize))
	if err != nil {
		return fmt.Errorf("list NetworkAttachmentDefinitions: %w", err)
	}
	return nil
}

// configs returns the configurations of whereabouts in that of a definition, which is a plugin or a list of plugins.
func configs(name, text string) []*whereabouts.Config {
	value, errs := strictjson.Parse(text, field.NewPath("spec", "config"))
	top, ok := value.(*strictjson.Object)
	if !ok || len(errs) > 0 {
		return nil
	}
	list := top.Map()
	if own, ok := list["name"].(string); ok && own != "" {
		name = own
	}
	plugins, ok := list["plugins"].([]any)
	if !ok {
		plugins = []any{list}
	}
	var out []*whereabouts.Config
	for _, each := range plugins {
		plugin, _ := each.(map[string]any)
		ipam, _ := plugin["ipam"].(map[string]any)
		if ipam == nil || ipam["type"] != whereabouts.Type {
			continue
		}
		raw, err := json.Marshal(map[string]any{"name": name, "ipam": ipam})
		if err != nil {
			continue
		}
		if config, errs := whereabouts.Parse(string(raw)); len(errs) == 0 {
			out = append(out, config)
		}
	}
	return out
}
