package multus

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// validateRaw checks that a raw CNI configuration is one JSON object, of one plugin ("type") or of several
// ("plugins"). What is in it is the plugins' business.
func validateRaw(text string, at *field.Path) field.ErrorList {
	if strings.TrimSpace(text) == "" {
		return field.ErrorList{field.Required(at, "a network of type Raw needs its CNI configuration as JSON").WithOrigin(RuleRawCNIConfig)}
	}
	// Forbidden, not Invalid: the sentence shows the place, and the whole value would bury it.
	refuse := func(detail string) field.ErrorList {
		return field.ErrorList{field.Forbidden(at, detail).WithOrigin(RuleRawCNIConfig)}
	}
	if err := strictjson.Check(text); err != nil {
		return refuse(err.Error())
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return refuse(err.Error())
	}
	object, ok := value.(map[string]any)
	if !ok {
		return refuse(`is not a JSON object; write {"cniVersion": ..., "type": ...}`)
	}
	plugin, isText := object["type"].(string)
	plugins, isList := object["plugins"].([]any)
	if (!isText || plugin == "") && (!isList || len(plugins) == 0) {
		return refuse(`names no plugin; add "type", or "plugins" with a list of plugins`)
	}
	return nil
}
