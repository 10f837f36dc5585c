package nmstate

// Ethtool are settings of the device's driver.
type Ethtool struct {
	Pause *Pause `json:"pause,omitempty"`
	// Feature maps names of the kernel or of the ethtool command to on and off.
	Feature  map[string]bool `json:"feature,omitempty"`
	Coalesce *Coalesce       `json:"coalesce,omitempty"`
	Ring     *Ring           `json:"ring,omitempty"`
}

// Pause are pause frames.
type Pause struct {
	Autoneg *bool `json:"autoneg,omitempty"`
	RX      *bool `json:"rx,omitempty"`
	TX      *bool `json:"tx,omitempty"`
}

// Coalesce are the settings of interrupt coalescing; times are in microseconds.
type Coalesce struct {
	AdaptiveRX      *bool   `json:"adaptive-rx,omitempty"`
	AdaptiveTX      *bool   `json:"adaptive-tx,omitempty"`
	PktRateHigh     *uint32 `json:"pkt-rate-high,omitempty"`
	PktRateLow      *uint32 `json:"pkt-rate-low,omitempty"`
	RXFrames        *uint32 `json:"rx-frames,omitempty"`
	RXFramesHigh    *uint32 `json:"rx-frames-high,omitempty"`
	RXFramesIRQ     *uint32 `json:"rx-frames-irq,omitempty"`
	RXFramesLow     *uint32 `json:"rx-frames-low,omitempty"`
	RXUsecs         *uint32 `json:"rx-usecs,omitempty"`
	RXUsecsHigh     *uint32 `json:"rx-usecs-high,omitempty"`
	RXUsecsIRQ      *uint32 `json:"rx-usecs-irq,omitempty"`
	RXUsecsLow      *uint32 `json:"rx-usecs-low,omitempty"`
	SampleInterval  *uint32 `json:"sample-interval,omitempty"`
	StatsBlockUsecs *uint32 `json:"stats-block-usecs,omitempty"`
	TXFrames        *uint32 `json:"tx-frames,omitempty"`
	TXFramesHigh    *uint32 `json:"tx-frames-high,omitempty"`
	TXFramesIRQ     *uint32 `json:"tx-frames-irq,omitempty"`
	TXFramesLow     *uint32 `json:"tx-frames-low,omitempty"`
	TXUsecs         *uint32 `json:"tx-usecs,omitempty"`
	TXUsecsHigh     *uint32 `json:"tx-usecs-high,omitempty"`
	TXUsecsIRQ      *uint32 `json:"tx-usecs-irq,omitempty"`
	TXUsecsLow      *uint32 `json:"tx-usecs-low,omitempty"`
}

// Ring are sizes of the device's queues in packets. The maxima are reported by NMState.
type Ring struct {
	RX         *uint32 `json:"rx,omitempty"`
	RXMax      *uint32 `json:"rx-max,omitempty"`
	RXJumbo    *uint32 `json:"rx-jumbo,omitempty"`
	RXJumboMax *uint32 `json:"rx-jumbo-max,omitempty"`
	RXMini     *uint32 `json:"rx-mini,omitempty"`
	RXMiniMax  *uint32 `json:"rx-mini-max,omitempty"`
	TX         *uint32 `json:"tx,omitempty"`
	TXMax      *uint32 `json:"tx-max,omitempty"`
}
