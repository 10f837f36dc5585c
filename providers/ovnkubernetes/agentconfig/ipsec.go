package agentconfig

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	// CommandIPsec is charon and its agent, in DaemonSet ovn-ipsec.
	CommandIPsec = "ovn-ipsec"
	// IPsecConfigMap is the ConfigMap in Namespace that is mounted at IPsecConfigDir: the files below, each with one word. Without it nothing is encrypted.
	IPsecConfigMap = "ovn-ipsec"
	// KeyIPsecPhase is a Phase.
	KeyIPsecPhase = "phase"
	// KeyIPsecEncapsulation is an encapsulation of the API: Auto or Always.
	KeyIPsecEncapsulation = "encapsulation"
	// IPsecConfigDir is where containers have the ConfigMap.
	IPsecConfigDir = "/etc/ovn-ipsec"
	// IPsecSigner is the signer of certificates.
	IPsecSigner = "network.openshift.io/signer"
	// IPsecPKI is the OperatorPKI that is its CA.
	IPsecPKI = "signer"
	// IPsecAuthority is the ConfigMap with that CA.
	IPsecAuthority = "signer-ca"
	// IPsecAuthorityDir is where containers have it.
	IPsecAuthorityDir = "/signer-ca"
	// IPsecAnnotation is the annotation of pods of the agent with its Report.
	IPsecAnnotation = "k8s.ovn.org/ipsec"
	// IPsecAccount is the service account of the agent.
	IPsecAccount = "ovn-kubernetes-ipsec"
	// HealthIPsec is where the agent serves /healthz, /readyz and /metrics.
	HealthIPsec = "127.0.0.1:19107"
)

// Phase is what nodes do with packets between them.
type Phase string

// The phases. IPsec is turned on by Accept, then Require, and off by Accept, then Plain: each begins when all nodes are in the one before, so that no node
// drops what another one still sends.
const (
	// PhaseAccept: nodes encrypt what they send to each node with which they have keys, and accept both.
	PhaseAccept Phase = "accept"
	// PhaseRequire: nodes send and accept nothing but encrypted packets.
	PhaseRequire Phase = "require"
	// PhasePlain: nodes send packets in the clear, and accept both.
	PhasePlain Phase = "plain"
)

// ParsePhase reads a phase.
func ParsePhase(text string) (Phase, error) {
	switch p := Phase(text); p {
	case PhaseAccept, PhaseRequire, PhasePlain:
		return p, nil
	}
	return "", fmt.Errorf("%q is not a phase of IPsec", text)
}

// Report is what the agent of a node reports.
type Report struct {
	// Phase is the phase that the node is in.
	Phase Phase `json:"phase"`
	// ESP is who encrypts: "kernel" or "userspace". Overhead is how many bytes that adds to a packet at most.
	ESP      string `json:"esp"`
	Overhead int    `json:"overhead"`
	// Peers is how many other nodes there are, Missing which of them the node has no keys with: some of them, if there are many.
	Peers   int      `json:"peers"`
	Missing []string `json:"missing,omitempty"`
	// Expires is when the node's certificate expires; nil without one.
	Expires *time.Time `json:"expires,omitempty"`
	// Problems are sentences.
	Problems []string `json:"problems,omitempty"`
}

const (
	// mostMissing and mostProblems bound a report, longestProblem a sentence of it in bytes.
	mostMissing, mostProblems, longestProblem = 20, 5, 300
)

// Encode returns the value of the annotation. Long lists and sentences are cut.
func (r Report) Encode() (string, error) {
	r.Missing = r.Missing[:min(len(r.Missing), mostMissing)]
	var problems []string
	for _, p := range r.Problems[:min(len(r.Problems), mostProblems)] {
		problems = append(problems, cut(p))
	}
	r.Problems = problems
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode report: %w", err)
	}
	return string(text), nil
}

// ParseReport reads the value of the annotation, which a node has written: what is too long is cut.
func ParseReport(text string) (Report, error) {
	var r Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Report{}, fmt.Errorf("read annotation %s: %w", IPsecAnnotation, err)
	}
	if _, err := ParsePhase(string(r.Phase)); err != nil {
		return Report{}, fmt.Errorf("read annotation %s: %w", IPsecAnnotation, err)
	}
	r.Missing, r.Problems = r.Missing[:min(len(r.Missing), mostMissing)], r.Problems[:min(len(r.Problems), mostProblems)]
	for i := range r.Problems {
		r.Problems[i] = cut(r.Problems[i])
	}
	return r, nil
}

func cut(sentence string) string {
	if len(sentence) <= longestProblem {
		return sentence
	}
	end := longestProblem
	for end > 0 && sentence[end]&0xc0 == 0x80 { // inside of a character
		end--
	}
	return sentence[:end] + "..."
}
