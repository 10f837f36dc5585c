package noproxy

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// installConfig is the part of OpenShift's install-config that is needed here.
type installConfig struct {
	Networking struct {
		// MachineCIDR is the older form of MachineNetwork.
		MachineCIDR    string `json:"machineCIDR"`
		MachineNetwork []struct {
			CIDR string `json:"cidr"`
		} `json:"machineNetwork"`
	} `json:"networking"`
}

// MachineNetworks returns the CIDRs of the machine networks in an install-config without checking them. The error does not
// quote the document, which may contain secrets.
func MachineNetworks(document []byte) ([]string, error) {
	var c installConfig
	if err := yaml.Unmarshal(document, &c); err != nil {
		return nil, errors.New("read networking of install-config: it is not the YAML that is expected")
	}
	var all []string
	if c.Networking.MachineCIDR != "" {
		all = append(all, c.Networking.MachineCIDR)
	}
	for _, n := range c.Networking.MachineNetwork {
		all = append(all, n.CIDR)
	}
	return all, nil
}
