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
	// KeyAudit has the settings of NetworkPolicy audit messages: Audit as JSON. It is mounted as AuditFile, whose content changes while pods run.
	KeyAudit = "policy_audit"
	// AuditDir is the directory of AuditFile in containers.
	AuditDir = "/etc/ovn-policy-audit"
	// AuditFile is the file of KeyAudit.
	AuditFile = AuditDir + "/policy-audit.json"
	// AuditLogDir is the directory on nodes with AuditLog and its rotated files.
	AuditLogDir = "/var/log/ovn"
	// AuditLog is the file of audit messages.
	AuditLog = AuditLogDir + "/acl-audit-log.log"
	// SyslogSocket is the node's syslog socket of the C library.
	SyslogSocket = "/dev/log"
)

// Destinations of messages in addition to the file: the C library's syslog, none, and prefixes of addresses.
const (
	DestinationLibc = "libc"
	DestinationNull = "null"
	DestinationUDP  = "udp:"
	DestinationUnix = "unix:"
)

// Audit has the settings of messages about connections that NetworkPolicies allow or deny.
type Audit struct {
	// RateLimit is the maximum number of messages per second and node.
	RateLimit uint32 `json:"rateLimit"`
	// MaxFileSize is the size in megabytes at which the file is rotated. MaxLogFiles is the number of rotated files that are kept.
	MaxFileSize uint32 `json:"maxFileSize"`
	MaxLogFiles int32  `json:"maxLogFiles"`
	// Destination receives the messages in addition to the file. Facility is their syslog facility.
	Destination string `json:"destination"`
	Facility    string `json:"syslogFacility"`
}

// DefaultAudit returns the default settings.
func DefaultAudit() Audit {
	return Audit{RateLimit: 20, MaxFileSize: 50, MaxLogFiles: 5, Destination: DestinationNull, Facility: "local0"}
}

// Facilities returns the syslog facilities, with ovn-controller's names.
func Facilities() []string {
	return []string{"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "clock", "ftp", "ntp", "audit", "alert", "clock2",
		"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"}
}

// UnixPath returns the path of a destination that is a Unix socket of the node.
func UnixPath(destination string) (string, bool) {
	file, found := strings.CutPrefix(destination, DestinationUnix)
	return file, found && path.IsAbs(file) && path.Clean(file) == file && path.Dir(file) != "/" && !strings.ContainsAny(file, " \t\n")
}

// ValidDestination reports whether ovn-controller can send messages to a destination. It does not resolve names.
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

// DecodeAudit decodes AuditFile. Missing settings have their default values.
func DecodeAudit(content []byte) (Audit, error) {
	a := DefaultAudit()
	if err := json.Unmarshal(content, &a); err != nil {
		return DefaultAudit(), fmt.Errorf("read the settings of audit messages: %w", err)
	}
	return a, nil
}
