package agentconfig

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// CommandIPsec runs charon and its agent, in DaemonSet ovn-ipsec.
	CommandIPsec = "ovn-ipsec"
	// IPsecConfigMap is the ConfigMap in Namespace that is mounted at IPsecConfigDir, with the keys below. Without it nothing is encrypted.
	IPsecConfigMap = "ovn-ipsec"
	// KeyIPsecPhase has a Phase.
	KeyIPsecPhase = "phase"
	// KeyIPsecEncapsulation has an encapsulation of the API: Auto or Always.
	KeyIPsecEncapsulation = "encapsulation"
	// IPsecConfigDir is the mount path of the ConfigMap.
	IPsecConfigDir = "/etc/ovn-ipsec"
	// IPsecSigner is the signer of certificates.
	IPsecSigner = "network.openshift.io/signer"
	// IPsecPKI is the OperatorPKI of the signer's CA.
	IPsecPKI = "signer"
	// IPsecCA is the ConfigMap with that CA.
	IPsecCA = "signer-ca"
	// IPsecCADir is the mount path of IPsecCA.
	IPsecCADir = "/signer-ca"
	// IPsecAnnotation is the annotation of the agent's pods with its Report.
	IPsecAnnotation = "k8s.ovn.org/ipsec"
	// IPsecAccount is the ServiceAccount of the agent.
	IPsecAccount = "ovn-kubernetes-ipsec"
	// HealthIPsec is the address at which the agent serves /healthz, /readyz and /metrics.
	HealthIPsec = "127.0.0.1:19107"
)

// Sizes of ESP in bytes.
const (
	// KernelESPOverhead is the maximum overhead of the kernel's ESP, in transport mode with AES-GCM and UDP encapsulation: the figure of OpenShift.
	KernelESPOverhead = 46
	// UserspaceESPPacket is the maximum size of a packet that charon's ESP encrypts: charon's plugin kernel-libipsec gives its interface this MTU when it creates
	// it, and reads no more of a packet, also after the MTU was changed (strongSwan 5.9.8).
	UserspaceESPPacket = 1400
)

// UserspaceESPOverhead returns the maximum overhead in bytes of charon's ESP, which nodes use whose kernel has none: in tunnel mode, with an IPv4 or IPv6 header of
// its own, and always with UDP encapsulation.
func UserspaceESPOverhead(ipv6 bool) int {
	if ipv6 {
		return 93
	}
	return 73
}

// Phase determines how nodes handle packets between them.
type Phase string

// Phases. IPsec is enabled by Accept, then Require, and disabled by Accept, then Plain. A phase begins after all nodes have reached the preceding one, so that
// no node drops packets that another one still sends.
const (
	// PhaseAccept: nodes encrypt packets to each node with which they have keys, and accept packets with and without encryption.
	PhaseAccept Phase = "accept"
	// PhaseRequire: nodes send and accept only encrypted packets.
	PhaseRequire Phase = "require"
	// PhasePlain: nodes send packets unencrypted, and accept packets with and without encryption.
	PhasePlain Phase = "plain"
)

// ParsePhase parses a phase.
func ParsePhase(text string) (Phase, error) {
	switch p := Phase(text); p {
	case PhaseAccept, PhaseRequire, PhasePlain:
		return p, nil
	}
	return "", fmt.Errorf("%q is not a phase of IPsec", text)
}

// Report is the report of a node's agent.
type Report struct {
	// Phase is the phase that the node is in.
	Phase Phase `json:"phase"`
	// ESP is "kernel" or "userspace". Overhead is the maximum overhead of a packet in bytes.
	ESP      string `json:"esp"`
	Overhead int    `json:"overhead"`
	// Peers is the number of other nodes. Missing are nodes with which the node has no keys; the list may be truncated.
	Peers   int      `json:"peers"`
	Missing []string `json:"missing,omitempty"`
	// Expires is the expiry of the node's certificate; nil without one.
	Expires *time.Time `json:"expires,omitempty"`
	// Problems are sentences.
	Problems []string `json:"problems,omitempty"`
}

const (
	// maxMissing and maxProblems limit the lists of a report, maxProblemLength a sentence in bytes.
	maxMissing, maxProblems, maxProblemLength = 20, 5, 300
)

// Encode returns the value of the annotation. It truncates long lists and sentences.
func (r Report) Encode() (string, error) {
	r.Missing = r.Missing[:min(len(r.Missing), maxMissing)]
	var problems []string
	for _, p := range r.Problems[:min(len(r.Problems), maxProblems)] {
		problems = append(problems, cut(p))
	}
	r.Problems = problems
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode report: %w", err)
	}
	return string(text), nil
}

// ParseReport decodes the value of the annotation. It truncates what exceeds the limits, since nodes are not trusted.
func ParseReport(text string) (Report, error) {
	var r Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Report{}, fmt.Errorf("read annotation %s: %w", IPsecAnnotation, err)
	}
	if _, err := ParsePhase(string(r.Phase)); err != nil {
		return Report{}, fmt.Errorf("read annotation %s: %w", IPsecAnnotation, err)
	}
	r.Missing, r.Problems = r.Missing[:min(len(r.Missing), maxMissing)], r.Problems[:min(len(r.Problems), maxProblems)]
	for i := range r.Problems {
		r.Problems[i] = cut(r.Problems[i])
	}
	return r, nil
}

func cut(sentence string) string {
	if len(sentence) <= maxProblemLength {
		return sentence
	}
	end := maxProblemLength
	for end > 0 && sentence[end]&0xc0 == 0x80 { // inside a character
		end--
	}
	return sentence[:end] + "..."
}
