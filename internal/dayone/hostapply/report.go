package hostapply

import (
	"fmt"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Report is the report of a run.
type Report struct {
	Result Result    `json:"result"`
	Source Source    `json:"source"`
	Time   time.Time `json:"time"`
	// Attempt is the attempt of the request; 0 at boot.
	Attempt int32 `json:"attempt,omitempty"`
	// Message is the error; empty if there is none.
	Message string `json:"message,omitempty"`
	// Differences are the differences between the document and the network when verification failed.
	Differences []livestate.Difference `json:"differences,omitempty"`
}

func (e *Engine) publish(r Report) error {
	if err := writeJSON(e.Report, r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
