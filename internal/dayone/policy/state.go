package policy

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// State is the live state of a host for captures. The zero value means no host.
type State struct {
	// tree has maps, lists and scalars.
	tree any
}

// StateOf returns a document as a state.
func StateOf(live *nmstate.Document) (State, error) {
	data, err := json.Marshal(live)
	if err != nil {
		return State{}, fmt.Errorf("encode the state of the host: %w", err)
	}
	return stateFrom(data)
}

// ParseState parses the output of `nmstatectl show`, or a NodeNetworkState. It accepts unknown keys of other versions of NMState.
func ParseState(text []byte) (State, error) {
	if len(text) > nmstate.MaxSize {
		return State{}, fmt.Errorf("has more than %d bytes", nmstate.MaxSize)
	}
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return State{}, fmt.Errorf("is not YAML: %w", err)
	}
	var object struct {
		Kind   string
		Status struct {
			CurrentState json.RawMessage `json:"currentState"`
		}
	}
	if json.Unmarshal(data, &object) == nil && object.Kind == "NodeNetworkState" {
		if len(object.Status.CurrentState) == 0 {
			return State{}, fmt.Errorf("is a NodeNetworkState without status.currentState")
		}
		return stateFrom(object.Status.CurrentState)
	}
	s, err := stateFrom(data)
	if err != nil {
		return State{}, err
	}
	tree, ok := s.tree.(map[string]any)
	if _, exists := tree["interfaces"]; !ok || !exists {
		return State{}, fmt.Errorf("has no interfaces; give the output of `nmstatectl show` or `cno dayone import --live`, or a NodeNetworkState")
	}
	return s, nil
}

func stateFrom(data []byte) (State, error) {
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return State{}, fmt.Errorf("decode the state of the host: %w", err)
	}
	return State{tree: whole(tree)}, nil
}

// whole converts numbers of JSON to integers, since all numbers of a state are integers.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}
