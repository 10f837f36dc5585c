package mtumigration

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/rules"
)

// CheckLinks returns an error if an MTU plus the overhead of the encapsulation named by is larger than the MTU of a node's link. All values are in bytes.
// link is 0 if unknown.
func CheckLinks(at *field.Path, mtu, overhead int, by string, link int) field.ErrorList {
	if link == 0 || mtu+overhead <= link {
		return nil
	}
	return field.ErrorList{rules.LinkMTU.Invalid(at, mtu, mtu+overhead, by, overhead, link, link-overhead)}
}
