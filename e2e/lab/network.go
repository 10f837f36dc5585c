package lab

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// ApplyNetwork applies a network configuration, if the cluster knows its kinds:
// they come with the operator. Otherwise it says that this is still to be done.
func (l *Lab) ApplyNetwork(ctx context.Context, file []byte) error {
	_, err := l.Kubectl(ctx, bytes.NewReader(file), "apply", "--filename=-")
	if err != nil && strings.Contains(err.Error(), "no matches for kind") {
		fmt.Fprintln(l.host.Out, "the network configuration is not applied yet: the cluster does not know its kinds, install the operator first")
		return nil
	}
	return err
}
