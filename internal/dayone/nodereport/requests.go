package nodereport

import (
	"encoding/json"
	"fmt"
)

// RequestsKey is the key of Requests in their ConfigMap.
const RequestsKey = "requests.json"

// Request is a request to a node to apply its document now.
type Request struct {
	// File is the name of the document, and SHA256 the digest of its content in hexadecimal.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Attempt distinguishes requests for the same content.
	Attempt int32 `json:"attempt"`
}

// Requests are the pending requests by name of the node.
type Requests map[string]Request

// RequestsName returns the name of the ConfigMap for the nodes of a role.
func RequestsName(role string) string { return "apply-" + role }

// Answered reports whether the report is the response to a request.
func (r Report) Answered(request Request) bool {
	return r.Result != "" && r.SHA256 == request.SHA256 && (r.Attempt == request.Attempt || r.Good())
}

// Good reports whether the node has applied the document of the report.
func (r Report) Good() bool { return r.Result == "applied" || r.Result == "unchanged" }

// Encode returns the data of the ConfigMap. It is deterministic.
func (r Requests) Encode() (map[string]string, error) {
	if r == nil {
		r = Requests{}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode requests: %w", err)
	}
	return map[string]string{RequestsKey: string(text)}, nil
}

// DecodeRequests decodes the value of RequestsKey. Empty text means no requests.
func DecodeRequests(text []byte) (Requests, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var r Requests
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("decode requests: %w", err)
	}
	return r, nil
}
