package networks

import "github.com/cluster-network-operator/cno/e2e/kit"

// thirdPartyImage builds the image of the third-party network: the standard plugins bridge and host-local, and routes between nodes.
// The operator does not render any of it.
func thirdPartyImage(k *kit.Kit) (string, error) {
	o, err := newOverlay(k, "thirdparty")
	if err != nil {
		return "", err
	}
	return o.dir, o.images("e2e/networks/thirdparty")
}
