// Package monitoring holds the dashboards of the network, for Grafana and for the console of OpenShift, which reads the same
// format: rows of panels, with the data source in the variable datasource.
//
// The directory base has what Prometheus is to watch and when to alert, as objects of the Prometheus operator; docs/runbooks has
// a page for each alert. To install all of it: kubectl apply -k config/monitoring.
package monitoring

import _ "embed" // the files below

//go:embed dashboards/network-stats.json
var networkStats string

//go:embed dashboards/network-operator.json
var networkOperator string

// Dashboards returns the dashboards as JSON, by name. Each call returns a new map.
func Dashboards() map[string]string {
	return map[string]string{"network-stats": networkStats, "network-operator": networkOperator}
}
