// Package cniserver is the side of CNI that runs in a node's agent, behind the shim (package cnishim). A network gives a Handler;
// the server does what all networks need: a socket for root alone, one request of a sandbox after another, deadlines, a limit of
// requests that run at once, repeated calls with the same result, results on disk, and the removal of what belongs to no sandbox.
//
// The contract with the runtime: an ADD that has failed has left nothing, or what it has left is removed by the DEL that follows, by
// the next start or by GC. A DEL succeeds when nothing of the attachment is left, also if there was nothing, and fails otherwise.
package cniserver

import (
	"context"
	"encoding/json"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// Handler attaches pods to a network. Its methods are called at most once at a time for a sandbox, and end soon after their context
// does. Errors of type *cniproto.Error keep their code.
type Handler interface {
	// Add attaches a pod. It is not called for an attachment that exists. What it has done when it fails is removed with Del.
	Add(ctx context.Context, c Call) (*current.Result, error)
	// Check compares an attachment with what Add returned.
	Check(ctx context.Context, c Call, added *current.Result) error
	// Del removes an attachment. What is missing is no error, the network namespace included. Of an attachment of an earlier
	// process c is what Add was called with.
	Del(ctx context.Context, c Call) error
	// Status returns an error while pods cannot be attached.
	Status(ctx context.Context) error
}

// Call is an attachment: one interface of one sandbox.
type Call struct {
	// Plugin is the name under which the shim was called, and Network the name of the configuration.
	Plugin      string `json:"plugin"`
	Network     string `json:"network"`
	ContainerID string `json:"containerID"`
	// NetNS is the path of the sandbox' network namespace, below /run if the runtime names one below /var/run; empty for a DEL after it is
	// gone.
	NetNS  string `json:"netns"`
	IfName string `json:"ifname"`
	// Args are the CNI_ARGS, for example K8S_POD_NAME.
	Args map[string]string `json:"args,omitempty"`
	// Config is the network configuration, without what the runtime adds for this call.
	Config json.RawMessage `json:"config"`
}

// Pod is the pod of a sandbox. Its fields are empty for a sandbox without one.
type Pod struct{ Namespace, Name, UID string }

// Pod returns the pod that the runtime names.
func (c Call) Pod() Pod {
	return Pod{Namespace: c.Args["K8S_POD_NAMESPACE"], Name: c.Args["K8S_POD_NAME"], UID: c.Args["K8S_POD_UID"]}
}

// key names an attachment.
func (c Call) key() string { return c.ContainerID + "/" + c.IfName }

// conf are the keys that the server reads of a configuration.
type conf struct {
	CNIVersion string          `json:"cniVersion"`
	Name       string          `json:"name"`
	PrevResult json.RawMessage `json:"prevResult,omitempty"`
	// Valid are the attachments that GC keeps.
	Valid []attachment `json:"cni.dev/valid-attachments,omitempty"`
}

type attachment struct {
	ContainerID string `json:"containerID"`
	IfName      string `json:"ifname"`
}

// parseArgs reads CNI_ARGS, "A=b;C=d".
func parseArgs(text string) (map[string]string, error) {
	args := map[string]string{}
	for pair := range strings.SplitSeq(text, ";") {
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_ARGS: %q is not KEY=VALUE", pair)
		}
		args[key] = value
	}
	return args, nil
}
