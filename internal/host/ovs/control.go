package ovs

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
)

// Control is the path of the control socket of a daemon of Open vSwitch or OVN, as used by ovs-appctl.
type Control string

// Call calls a command and returns its output. If the daemon refuses the command, the error has the daemon's message.
func (c Control) Call(ctx context.Context, command string, arguments ...string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", string(c))
	if err != nil {
		return "", fmt.Errorf("call %s: %w", command, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if arguments == nil {
		arguments = []string{} // null is not a list
	}
	request := map[string]any{"id": 0, "method": command, "params": arguments}
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return "", fmt.Errorf("call %s: %w", command, err)
	}
	var reply struct {
		Result *string `json:"result"`
		Error  *string `json:"error"`
	}
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		return "", fmt.Errorf("call %s: read the reply: %w", command, err)
	}
	switch {
	case reply.Error != nil:
		return "", fmt.Errorf("call %s: %s", command, strings.TrimSpace(*reply.Error))
	case reply.Result == nil:
		return "", nil
	}
	return *reply.Result, nil
}
