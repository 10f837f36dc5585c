package nmstate

// LinuxBridge is a Linux bridge.
type LinuxBridge struct {
	Options *LinuxBridgeOptions `json:"options,omitempty"`
	// Port is nil if the document does not list ports.
	Port []LinuxBridgePort `json:"port,omitempty" nm:"alias=ports"`
}

// LinuxBridgeOptions are the kernel's options of a bridge. Multicast intervals are in hundredths of a second.
type LinuxBridgeOptions struct {
	// GroupForwardMask and GroupFwdMask are two names of one option.
	GroupAddr                      string       `json:"group-addr,omitempty"`
	GroupForwardMask               *uint16      `json:"group-forward-mask,omitempty"`
	GroupFwdMask                   *uint16      `json:"group-fwd-mask,omitempty"`
	HashMax                        *uint32      `json:"hash-max,omitempty"`
	MACAgeingTime                  *uint32      `json:"mac-ageing-time,omitempty"`
	MulticastLastMemberCount       *uint32      `json:"multicast-last-member-count,omitempty"`
	MulticastLastMemberInterval    *uint64      `json:"multicast-last-member-interval,omitempty"`
	MulticastMembershipInterval    *uint64      `json:"multicast-membership-interval,omitempty"`
	MulticastQuerier               *bool        `json:"multicast-querier,omitempty"`
	MulticastQuerierInterval       *uint64      `json:"multicast-querier-interval,omitempty"`
	MulticastQueryInterval         *uint64      `json:"multicast-query-interval,omitempty"`
	MulticastQueryResponseInterval *uint64      `json:"multicast-query-response-interval,omitempty"`
	MulticastQueryUseIfaddr        *bool        `json:"multicast-query-use-ifaddr,omitempty"`
	MulticastRouter                string       `json:"multicast-router,omitempty" nm:"words=disabled|auto|enabled,numbered"`
	MulticastSnooping              *bool        `json:"multicast-snooping,omitempty"`
	MulticastStartupQueryCount     *uint32      `json:"multicast-startup-query-count,omitempty"`
	MulticastStartupQueryInterval  *uint64      `json:"multicast-startup-query-interval,omitempty"`
	STP                            *STP         `json:"stp,omitempty"`
	VLANProtocol                   VLANProtocol `json:"vlan-protocol,omitempty"`
	VLANDefaultPVID                *uint16      `json:"vlan-default-pvid,omitempty"`
	// GCTimer and HelloTimer are reported by NMState, and ignored when desired.
	GCTimer    *uint64 `json:"gc-timer,omitempty"`
	HelloTimer *uint64 `json:"hello-timer,omitempty"`
}

// STP is the spanning tree protocol of a Linux bridge; times are seconds.
type STP struct {
	Enabled      *bool   `json:"enabled,omitempty"`
	ForwardDelay *uint8  `json:"forward-delay,omitempty"`
	HelloTime    *uint8  `json:"hello-time,omitempty"`
	MaxAge       *uint8  `json:"max-age,omitempty"`
	Priority     *uint16 `json:"priority,omitempty"`
}

// LinuxBridgePort is the configuration of a Linux bridge's port.
type LinuxBridgePort struct {
	Name           string    `json:"name" nm:"required"`
	STPHairpinMode *bool     `json:"stp-hairpin-mode,omitempty"`
	STPPathCost    *uint32   `json:"stp-path-cost,omitempty"`
	STPPriority    *uint16   `json:"stp-priority,omitempty"`
	VLAN           *PortVLAN `json:"vlan,omitempty"`
}

// PortVLAN is the VLAN filter of a bridge's port.
type PortVLAN struct {
	Mode         string     `json:"mode,omitempty" nm:"words=access|trunk"`
	Tag          *uint16    `json:"tag,omitempty"`
	EnableNative *bool      `json:"enable-native,omitempty"`
	TrunkTags    []TrunkTag `json:"trunk-tags,omitempty"`
}

// Empty reports whether nothing is set.
func (v *PortVLAN) Empty() bool {
	return v == nil || v.Mode == "" && v.Tag == nil && v.EnableNative == nil && v.TrunkTags == nil
}

// TrunkTag is one VLAN or a range of them.
type TrunkTag struct {
	ID      *uint16    `json:"id,omitempty"`
	IDRange *VLANRange `json:"id-range,omitempty"`
}

// VLANRange is a range of VLANs, both ends included.
type VLANRange struct {
	Min uint16 `json:"min" nm:"required"`
	Max uint16 `json:"max" nm:"required"`
}

// Range returns the first and the last VLAN.
func (t TrunkTag) Range() (first, last uint16) {
	switch {
	case t.ID != nil:
		return *t.ID, *t.ID
	case t.IDRange != nil:
		return t.IDRange.Min, t.IDRange.Max
	}
	return 0, 0
}
