package roles

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// One returns the role with a name, or the only role if the name is empty. Documents without a role are in the one with the name.
func One(found Found, name string) (placement.Role, error) {
	var names []string
	for _, role := range found.Roles {
		if role.Name == name || name == "" && len(found.Roles) == 1 {
			return role, nil
		}
		names = append(names, role.Name)
	}
	if len(names) == 0 {
		return placement.Role{}, fmt.Errorf("the input contains no file for %s", placement.Dir)
	}
	return placement.Role{}, fmt.Errorf("name one role with --role: %s", strings.Join(names, ", "))
}
