package selection

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// keys has a reader for each key of a network. Keys with a dot are extensions of third parties, and are ignored.
var keys = map[string]func(s *Selection, value any, at *field.Path) field.ErrorList{
	"name": func(s *Selection, v any, at *field.Path) field.ErrorList { return text(&s.Name, v, at, validateLabel) },
	"namespace": func(s *Selection, v any, at *field.Path) field.ErrorList {
		return text(&s.Namespace, v, at, validateLabel)
	},
	"interface": func(s *Selection, v any, at *field.Path) field.ErrorList {
		return text(&s.Interface, v, at, validateInterface)
	},
	"ips": readIPs,
	"mac": func(s *Selection, v any, at *field.Path) field.ErrorList { return text(&s.MAC, v, at, validateMAC) },
	"infiniband-guid": func(s *Selection, v any, at *field.Path) field.ErrorList {
		return text(&s.InfinibandGUID, v, at, validateGUID)
	},
	"cni-args":      readArgs,
	"portMappings":  readPortMappings,
	"bandwidth":     readBandwidth,
	"default-route": readDefaultRoute,
	"ipam-claim-reference": func(s *Selection, v any, at *field.Path) field.ErrorList {
		return text(&s.IPAMClaim, v, at, validateClaim)
	},
}

func parseJSON(annotation, podNamespace string, at *field.Path) ([]Selection, field.ErrorList) {
	value, errs := strictjson.Parse(annotation, at)
	if value == nil {
		return nil, errs
	}
	list, ok := value.([]any)
	if !ok {
		return nil, append(errs, field.Forbidden(at, `is not a list; write [{"name": ...}], or names separated by commas`))
	}
	if tooMany := tooMany(len(list), at); len(tooMany) > 0 {
		return nil, append(errs, tooMany...)
	}
	var selections []Selection
	for i, element := range list {
		o, ok := element.(*strictjson.Object)
		if !ok {
			errs = append(errs, strictjson.WrongType(at.Index(i), element, `an object with "name"`))
			continue
		}
		s := Selection{Namespace: podNamespace}
		errs = append(errs, readNetwork(&s, o, at.Index(i))...)
		selections = append(selections, s)
	}
	return selections, errs
}

func readNetwork(s *Selection, o *strictjson.Object, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range o.Keys {
		read, ok := keys[key]
		switch {
		case ok:
			errs = append(errs, read(s, o.Values[key], at.Child(key))...)
		case !strings.Contains(key, "."):
			errs = append(errs, strictjson.UnknownKey(at, key, slices.Collect(maps.Keys(keys))))
		}
	}
	if _, ok := o.Values["name"]; !ok {
		errs = append(errs, field.Required(at.Child("name"), "must be the name of a NetworkAttachmentDefinition"))
	}
	if s.IPAMClaim != "" && len(s.IPs) > 0 {
		errs = append(errs, field.Forbidden(at.Child("ipam-claim-reference"), "cannot be used together with ips; remove one of them"))
	}
	return errs
}

// text reads a string and checks it.
func text(into *string, value any, at *field.Path, validate func(string, *field.Path) field.ErrorList) field.ErrorList {
	s, ok := value.(string)
	if !ok {
		return field.ErrorList{strictjson.WrongType(at, value, "a string")}
	}
	*into = s
	return validate(s, at)
}
