package agentconfig

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
)

const (
	// KeyAudit is how messages about NetworkPolicies are written: Audit as JSON. Pods have it as the file AuditFile, which changes while they run.
	KeyAudit = "policy_audit"
	// AuditDir is where containers have AuditFile.
	AuditDir = "/etc/ovn-policy-audit"
	// AuditFile is the file of KeyAudit.
	AuditFile = AuditDir + "/policy-audit.json"
	// AuditLogDir is the directory of nodes with the file AuditLog, and with its predecessors.
	AuditLogDir = "/var/log/ovn"
	// AuditLog is the file of messages.
	AuditLog = AuditLogDir + "/acl-audit-log.log"
	// SyslogSocket is where a node's syslog receives messages of the C library.
	SyslogSocket = "/dev/log"
)

// The destinations of messages, beside the file: the C library's, none, and those with an address.
const (
	DestinationLibc = "libc"
	DestinationNull = "null"
	DestinationUDP  = "udp:"
	DestinationUnix = "unix:"
)

// Audit is how messages about connections that NetworkPolicies allow or deny are written.
type Audit struct {
	// RateLimit is the most messages of a node in a second.
	RateLimit uint32 `json:"rateLimit"`
	// MaxFileSize is the size in megabytes at which a file is complete, MaxLogFiles how many complete files are kept.
	MaxFileSize uint32 `json:"maxFileSize"`
	MaxLogFiles int32  `json:"maxLogFiles"`
	// Destination is where messages are sent, in addition to the file, and Facility is their facility of syslog.
	Destination string `json:"destination"`
	Facility    string `json:"syslogFacility"`
}

// DefaultAudit is what applies to settings that are left out.
func DefaultAudit() Audit {
	return Audit{RateLimit: 20, MaxFileSize: 50, MaxLogFiles: 5, Destination: DestinationNull, Facility: "local0"}
}

// Facilities are the facilities of syslog, as ovn-controller names them.
func Facilities() []string {
	return []string{"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "clock", "ftp", "ntp", "audit", "alert", "clock2",
		"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"}
}

// UnixPath returns the path of a destination that is a unix socket of the node.
func UnixPath(destination string) (string, bool) {
	file, found := strings.CutPrefix(destination, DestinationUnix)
	return file, found && path.IsAbs(file) && path.Clean(file) == file && path.Dir(file) != "/" && !strings.ContainsAny(file, " \t\n")
}

// ValidDestination reports whether ovn-controller can send messages to a destination. It resolves no names.
func ValidDestination(destination string) bool {
	if text, found := strings.CutPrefix(destination, DestinationUDP); found {
		a, err := netip.ParseAddrPort(text)
		return err == nil && a.Port() != 0 && !a.Addr().IsUnspecified()
	}
	_, unix := UnixPath(destination)
	return unix || slices.Contains([]string{DestinationLibc, DestinationNull}, destination)
}

// Encode returns the value of KeyAudit.
func (a Audit) Encode() (string, error) {
	out, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("encode the settings of audit messages: %w", err)
	}
	return string(out), nil
}

// DecodeAudit reads AuditFile. What it leaves out has its default.
func DecodeAudit(content []byte) (Audit, error) {
	a := DefaultAudit()
	if err := json.Unmarshal(content, &a); err != nil {
		return DefaultAudit(), fmt.Errorf("read the settings of audit messages: %w", err)
	}
	return a, nil
}
