package imports

import (
	"context"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/dayone/hostdocument"
)

// describe returns the document of the host on which the command runs.
func (o *options) describe(ctx context.Context) ([]byte, error) {
	state, err := o.host.Read(ctx)
	if err != nil {
		return nil, err
	}
	content, err := hostdocument.FromState(state).YAML()
	if err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	return content, nil
}
