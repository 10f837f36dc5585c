package mtumigration

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
)

// CheckLinks refuses an MTU that, with the overhead of what carries packets between nodes (by), is more than a link of a node takes. All
// are in bytes. link is 0 while it is not known.
func CheckLinks(at *field.Path, mtu, overhead int, by string, link int) field.ErrorList {
	if link == 0 || mtu+overhead <= link {
		return nil
	}
	return field.ErrorList{rules.LinkMTU.Invalid(at, mtu, mtu+overhead, by, overhead, link, link-overhead)}
}
