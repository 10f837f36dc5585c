// Package placementtest has files of host network configuration for tests.
package placementtest

import "github.com/cluster-network-operator/cno/internal/dayone/placement"

// Sound is a document without fault, with one address.
const Sound = `interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}
- {name: br-ex, type: ovs-bridge, state: up, bridge: {port: [{name: eno1}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, state: up, copy-mac-from: eno1, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
dns-resolver: {config: {server: [192.0.2.1]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1}]}
`

// Files returns files of pairs of a name and a content.
func Files(contents ...string) placement.Files {
	var files placement.Files
	for i := 0; i < len(contents); i += 2 {
		files = append(files, placement.File{Name: contents[i], Content: []byte(contents[i+1])})
	}
	return files
}
