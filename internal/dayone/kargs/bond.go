package kargs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// bondOptions returns the mode and the options of a bond by their kernel names, in order.
func bondOptions(b *nmstate.Bond) ([]string, error) {
	out := []string{"mode=" + b.Mode}
	if b.Options == nil {
		return out, nil
	}
	data, err := json.Marshal(b.Options)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := ""
		switch v := values[name].(type) {
		case bool:
			text = map[bool]string{true: "1", false: "0"}[v]
		case string, json.Number:
			text = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("kernel arguments have no option %s of a bond", name)
		}
		// An argument separates options by commas and parts by colons.
		if strings.ContainsAny(text, ",: ") {
			return nil, fmt.Errorf("kernel arguments have no %s with %q", name, text)
		}
		if name == "balance-slb" {
			return nil, errors.New("kernel arguments have no balance-slb, which is NetworkManager's")
		}
		out = append(out, name+"="+text)
	}
	return out, nil
}
