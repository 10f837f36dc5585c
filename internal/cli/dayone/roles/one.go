package roles

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// One returns the role that is asked for, or the only one if none is. Documents that name no role are of the one that is asked for.
func One(found Found, name string) (placement.Role, error) {
	var names []string
	for _, role := range found.Roles {
		if role.Name == name || name == "" && len(found.Roles) == 1 {
			return role, nil
		}
		names = append(names, role.Name)
	}
	if len(names) == 0 {
		return placement.Role{}, fmt.Errorf("there is no file for %s in what was given", placement.Dir)
	}
	return placement.Role{}, fmt.Errorf("name one role with --role: %s", strings.Join(names, ", "))
}
