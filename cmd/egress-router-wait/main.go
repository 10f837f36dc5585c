// Command egress-router-wait is the only process in the pod of an egress router: it waits until the pod is terminated. The pod's network
// namespace forwards the traffic; the CNI plugin egress-router has configured it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	// The first process of a container gets only the signals that it handles.
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
