//go:build !linux

package thishost

import (
	"context"
	"errors"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Read returns an error: only networks of Linux hosts can be read. Commands that read files work on all systems.
func (Source) Read(context.Context) (livestate.State, error) {
	return livestate.State{}, errors.New("the network of this host can be read on Linux only: run the command on the host, or give a file that was written there")
}
