package facts

import (
	"fmt"
	"regexp"
	"strings"
)

// RegistryVariable is the environment variable of the operator that names the registry from which all images come.
const RegistryVariable = "IMAGE_REGISTRY"

// registries matches a registry: a host, a port and a path of repositories.
var registries = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

// In returns the images with another registry and the same repositories, tags and digests. An empty registry changes
// nothing.
func (i Images) In(registry string) (Images, error) {
	if registry == "" {
		return i, nil
	}
	if !registries.MatchString(registry) {
		return nil, fmt.Errorf("environment variable %s: %q is not a registry; write a host, with a port and a path where needed and without a scheme, tag or final slash, e.g. mirror.example:5000/cno", RegistryVariable, registry)
	}
	out := Images{}
	for variable, ref := range i {
		if host, rest, found := strings.Cut(ref, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
			ref = rest
		}
		out[variable] = ref
		if ref != "" {
			out[variable] = registry + "/" + ref
		}
	}
	return out, nil
}
