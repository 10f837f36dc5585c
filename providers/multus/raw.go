package multus

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// validateRaw validates that a raw CNI configuration is one JSON object, of one plugin ("type") or of several ("plugins"). The plugins validate the rest.
func validateRaw(text string, at *field.Path) field.ErrorList {
	if strings.TrimSpace(text) == "" {
		return field.ErrorList{rules.RawCNIConfigRequired.Required(at)}
	}
	// Forbidden instead of Invalid: the message has the position, and the whole value would obscure it.
	if err := strictjson.Check(text); err != nil {
		return field.ErrorList{rules.RawCNIConfigSyntax.Forbidden(at, err.Error())}
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return field.ErrorList{rules.RawCNIConfigSyntax.Forbidden(at, err.Error())}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{rules.RawCNIConfigObject.Forbidden(at)}
	}
	plugin, isText := object["type"].(string)
	plugins, isList := object["plugins"].([]any)
	if (!isText || plugin == "") && (!isList || len(plugins) == 0) {
		return field.ErrorList{rules.RawCNIConfigPlugin.Forbidden(at)}
	}
	return nil
}
