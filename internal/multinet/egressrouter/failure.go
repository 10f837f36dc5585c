package egressrouter

import (
	"fmt"
	"net/netip"
	"regexp"
)

// The reasons of failures that an administrator can do something about.
const (
	ReasonAddressInUse = "AddressInUse"
	ReasonNoMaster     = "NoMaster"
	ReasonNoGateway    = "NoGateway"
)

// Failure is the reason why a pod cannot have its attachment on a node.
type Failure struct {
	// Code is the error code of the plugin.
	Code uint
	// Reason is one of the reasons above.
	Reason  string
	Message string
}

// String returns the message of the plugin's error. It contains the reason, since the pod's events only have the text.
func (f Failure) String() string { return f.Reason + ": " + f.Message }

// Taken returns the failure that another machine has the address.
func Taken(address netip.Addr, holder string) Failure {
	return Failure{CodeAddressTaken, ReasonAddressInUse, fmt.Sprintf("address %s is taken by %s; choose another one, or free it", address, holder)}
}

// NoMaster returns the failure that the node has no interface that can be the master.
func NoMaster(format string, args ...any) Failure {
	return Failure{CodeNoMaster, ReasonNoMaster, fmt.Sprintf(format, args...)}
}

// NoGateway returns the failure that the gateway does not answer on the network of an interface of the node.
func NoGateway(gateway netip.Addr, master string) Failure {
	return Failure{CodeNoGateway, ReasonNoGateway, fmt.Sprintf("gateway %s does not answer on the network of interface %s of the node", gateway, master)}
}

var failure = regexp.MustCompile(`\b(` + ReasonAddressInUse + `|` + ReasonNoMaster + `|` + ReasonNoGateway + `): ([^\r\n]+)`)

// FailureIn returns the failure that a text reports, for example the message of an event, without its code. ok is false if there is none.
func FailureIn(text string) (f Failure, ok bool) {
	found := failure.FindStringSubmatch(text)
	if found == nil {
		return Failure{}, false
	}
	return Failure{Reason: found[1], Message: found[2]}, true
}
