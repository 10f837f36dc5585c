package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/cluster-network-operator/cno/internal/dayone/automatic"
)

// bridgeUp is the file that wait-for-br-ex-up.service waits for, in a directory that only hosts with that service have.
// There, a script of NetworkManager writes it when NetworkManager brings the bridge up, which it does not on every backend.
const bridgeUp = "/run/nodeip-configuration/br-ex-up"

// announceBridge writes bridgeUp if br-ex is up.
func announceBridge() error {
	link, err := net.InterfaceByName(automatic.Bridge)
	if err != nil || link.Flags&net.FlagUp == 0 {
		return nil
	}
	err = os.WriteFile(bridgeUp, nil, 0o644)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("announce %s: %w", automatic.Bridge, err)
	}
	return nil
}
