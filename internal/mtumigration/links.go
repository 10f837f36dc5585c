package mtumigration

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckLinks refuses an MTU that, with the overhead of what carries packets between nodes (by), is more than a link of a node takes. All
// are in bytes. link is 0 while it is not known.
func CheckLinks(at *field.Path, mtu, overhead int, by string, link int) field.ErrorList {
	if link == 0 || mtu+overhead <= link {
		return nil
	}
	return field.ErrorList{field.Invalid(at, mtu, fmt.Sprintf("needs links of at least %d (%s adds %d), and a node has one of %d; use %d or less, or leave it out, or raise the links first and delete the ConfigMap mtu, so that nodes are asked again",
		mtu+overhead, by, overhead, link, link-overhead)).WithOrigin("mtu-links")}
}
