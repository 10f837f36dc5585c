package olm

import "encoding/base64"

const summary = "Installs the network of a cluster and keeps it running."

const description = `The Cluster Network Operator installs the pod network of a Kubernetes cluster and keeps it running, from one short object.

OLM itself needs a pod network. Use this bundle on clusters that have one: to let this operator manage further networks beside the network of
a third party, or to upgrade an operator that runs already. On a cluster without a network, apply the file install.yaml of the release.

Before you subscribe, apply the file olm-prerequisites.yaml of the same release: it contains namespaces and admission policies, which OLM does not create.
`

// logo is the icon in catalogues: three nodes, each connected with the others.
const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><g fill="none" stroke="#1f6feb" stroke-width="4">` +
	`<path d="M32 14 12 48h40z"/></g><g fill="#1f6feb"><circle cx="32" cy="14" r="9"/><circle cx="12" cy="48" r="9"/><circle cx="52" cy="48" r="9"/></g></svg>`

func icon() string { return base64.StdEncoding.EncodeToString([]byte(logo)) }
