package declared

import (
	"fmt"
	"slices"
	"strings"
)

// The static pods of kube-controller-manager: their namespace and the value of their label "component".
const (
	ControllerManagerNamespace = "kube-system"
	ControllerManager          = "kube-controller-manager"
)

// flagCluster is the flag of kube-controller-manager with the networks of pods.
const flagCluster = "cluster-cidr"

// ControllerManagerPods is the name of the source in messages.
const ControllerManagerPods = "--" + flagCluster + " of the static pods " + ControllerManager + " in " + ControllerManagerNamespace

// Command is the command line of a pod.
type Command struct {
	Pod       string
	Arguments []string
}

// Flags returns the networks of pods in the command lines of all pods of kube-controller-manager. Those of several control-plane nodes
// must declare the same.
func Flags(commands []Command) Value {
	var found Value
	var first string
	for _, c := range commands {
		source := fmt.Sprintf("Pod %s/%s, --%s", ControllerManagerNamespace, c.Pod, flagCluster)
		size := 0
		for _, a := range c.Arguments {
			size += len(a)
		}
		if size > mostBytes {
			return Unreadable(source, errTooLong)
		}
		set := parse(c.Arguments)
		v := value(source, set[flagCluster], set.block)
		switch {
		case v.Err != nil:
			return v
		case len(v.Pools) == 0:
		case len(found.Pools) == 0:
			found, first = v, c.Pod
		case !slices.Equal(found.Pools, v.Pools):
			return Unreadable(source, fmt.Errorf("it differs from that of Pod %s", first))
		}
	}
	return found
}

// parse returns the flags of a command line. The last of several counts, as for the program itself.
func parse(arguments []string) flags {
	set := flags{}
	for i, a := range arguments {
		name, dashed := strings.CutPrefix(a, "--")
		if !dashed {
			continue
		}
		name, text, ok := strings.Cut(name, "=")
		if !ok && i+1 < len(arguments) {
			text = arguments[i+1]
		}
		set[name] = text
	}
	return set
}
