package status

// The names of the operator's installation (config/operator).
const (
	// OperatorNamespace is the default namespace of the operator.
	OperatorNamespace = "openshift-network-operator"
	// OperatorDeployment is the name of the operator's Deployment.
	OperatorDeployment = "network-operator"
)
