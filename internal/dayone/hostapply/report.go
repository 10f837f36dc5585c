package hostapply

import (
	"fmt"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Report says how a pass ended.
type Report struct {
	Result Result    `json:"result"`
	Source Source    `json:"source"`
	Time   time.Time `json:"time"`
	// Attempt is that of the request; 0 at boot.
	Attempt int32 `json:"attempt,omitempty"`
	// Message says what went wrong, if anything did.
	Message string `json:"message,omitempty"`
	// Differences are between what was wanted and what was there when verification gave up.
	Differences []livestate.Difference `json:"differences,omitempty"`
}

func (e *Engine) publish(r Report) error {
	if err := writeJSON(e.Report, r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
