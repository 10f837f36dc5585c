package facts

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
)

// ConfigMapName is the name of the ConfigMap in the operator's namespace in which the operator publishes its facts that
// have no other source. Commands outside the cluster use them for previews.
const ConfigMapName = "operator-facts"

// The keys of that ConfigMap.
const (
	keyPlatform  = "platform"
	keyAPIServer = "apiServer"
	keyImages    = "images"
	keyVersion   = "releaseVersion"
	// keyConntrack has the value true; it is missing if KeepConntrackMax is false.
	keyConntrack = "keepConntrackMax"
	// keyPullSecret is missing if PullSecret is empty.
	keyPullSecret = "pullSecret"
)

// Publish returns the data of the ConfigMap.
func (c Cluster) Publish() (map[string]string, error) {
	images, err := json.Marshal(c.Images)
	if err != nil {
		return nil, fmt.Errorf("encode images: %w", err)
	}
	data := map[string]string{
		keyPlatform: c.Platform, keyVersion: c.ReleaseVersion, keyImages: string(images),
		keyAPIServer: net.JoinHostPort(c.APIServer.Host, strconv.Itoa(c.APIServer.Port)),
	}
	if c.KeepConntrackMax {
		data[keyConntrack] = strconv.FormatBool(true)
	}
	if c.PullSecret != "" {
		data[keyPullSecret] = c.PullSecret
	}
	return data, nil
}

// Published decodes the data of the ConfigMap. Other facts are zero.
func Published(data map[string]string) (Cluster, error) {
	c := Cluster{Platform: data[keyPlatform], ReleaseVersion: data[keyVersion], PullSecret: data[keyPullSecret], KeepConntrackMax: data[keyConntrack] == strconv.FormatBool(true)}
	host, port, err := net.SplitHostPort(data[keyAPIServer])
	if err != nil {
		return Cluster{}, fmt.Errorf("read ConfigMap %s, key %s: %w", ConfigMapName, keyAPIServer, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Cluster{}, fmt.Errorf("read ConfigMap %s, key %s: %w", ConfigMapName, keyAPIServer, err)
	}
	c.APIServer = HostPort{Host: host, Port: int(number)}
	if err := json.Unmarshal([]byte(data[keyImages]), &c.Images); err != nil {
		return Cluster{}, fmt.Errorf("read ConfigMap %s, key %s: %w", ConfigMapName, keyImages, err)
	}
	return c, nil
}
