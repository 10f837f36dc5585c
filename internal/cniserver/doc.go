// Package cniserver is the CNI server in a node's agent, behind the shim (package cnishim). A network implements Handler. The server implements the common
// parts: a socket for root only, serialization of the requests of a sandbox, deadlines, a limit of concurrent requests, idempotent requests, stored results,
// and garbage collection.
//
// Contract with the runtime: a failed ADD leaves nothing, or its remains are removed by the following DEL, by the next start or by GC. A DEL succeeds if
// nothing of the attachment remains, even if nothing existed, and fails otherwise.
package cniserver

import (
	"context"
	"encoding/json"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// Handler attaches pods to a network. Calls of its methods for one sandbox are serialized, and must return soon after their context ends. Errors of type
// *cniproto.Error keep their code.
type Handler interface {
	// Add attaches a pod. It is not called for an existing attachment. After an error, Del removes its remains.
	Add(ctx context.Context, c Call) (*current.Result, error)
	// Check compares an attachment with the result of Add.
	Check(ctx context.Context, c Call, added *current.Result) error
	// Del removes an attachment. Missing parts, including the network namespace, are not errors. For an attachment of an earlier process, c is the argument of
	// its Add.
	Del(ctx context.Context, c Call) error
	// Status returns an error while pods cannot be attached.
	Status(ctx context.Context) error
}

// Call is an attachment: one interface of one sandbox.
type Call struct {
	// Plugin is the name under which the shim was executed. Network is the name of the configuration.
	Plugin      string `json:"plugin"`
	Network     string `json:"network"`
	ContainerID string `json:"containerID"`
	// NetNS is the path of the sandbox' network namespace, converted from /var/run to /run; empty for a DEL after its deletion.
	NetNS  string `json:"netns"`
	IfName string `json:"ifname"`
	// Args are the CNI_ARGS, for example K8S_POD_NAME.
	Args map[string]string `json:"args,omitempty"`
	// Config is the network configuration without the runtime's additions for this call.
	Config json.RawMessage `json:"config"`
}

// Pod is the pod of a sandbox. Its fields are empty for a sandbox without one.
type Pod struct{ Namespace, Name, UID string }

// Pod returns the pod in the runtime's arguments.
func (c Call) Pod() Pod {
	return Pod{Namespace: c.Args["K8S_POD_NAMESPACE"], Name: c.Args["K8S_POD_NAME"], UID: c.Args["K8S_POD_UID"]}
}

// key identifies an attachment.
func (c Call) key() string { return c.ContainerID + "/" + c.IfName }

// conf are the keys of the configuration that the server uses.
type conf struct {
	CNIVersion string          `json:"cniVersion"`
	Name       string          `json:"name"`
	PrevResult json.RawMessage `json:"prevResult,omitempty"`
	// Valid are the attachments that GC must keep.
	Valid []attachment `json:"cni.dev/valid-attachments,omitempty"`
}

type attachment struct {
	ContainerID string `json:"containerID"`
	IfName      string `json:"ifname"`
}

// parseArgs parses CNI_ARGS, "A=b;C=d".
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
