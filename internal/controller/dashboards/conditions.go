package dashboards

import (
	"github.com/cluster-network-operator/cno/internal/status"
)

// failed reports an error and returns it. The network works without dashboards, so it only affects the component's own condition.
func (c *Controller) failed(err error) error {
	c.Board.Report(Name, status.Finding{
		Component: component, Effect: status.Degraded, Reason: "DashboardError", Aside: true,
		Message: "The console lacks dashboards of the network: " + err.Error(),
	})
	return err
}
