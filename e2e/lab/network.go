package lab

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// ApplyNetwork applies a network configuration. If the CRDs, which the operator
// installs, do not exist yet, it prints that and returns nil.
func (l *Lab) ApplyNetwork(ctx context.Context, file []byte) error {
	_, err := l.Kubectl(ctx, bytes.NewReader(file), "apply", "--filename=-")
	if err != nil && strings.Contains(err.Error(), "no matches for kind") {
		fmt.Fprintln(l.host.Out, "the network configuration was not applied because its CRDs do not exist: install the operator first")
		return nil
	}
	return err
}
