// Command egress-router-wait is the only process in the pod of an egress router: it waits until the pod ends. What the pod does is in its
// network namespace, where the CNI plugin egress-router has set it up.
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
