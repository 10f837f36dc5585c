package nodereport

import (
	"encoding/json"
	"fmt"
)

// RequestsKey is the key of Requests in their ConfigMap.
const RequestsKey = "requests.json"

// Request asks a node to apply its document now.
type Request struct {
	// File is the name of the document, and SHA256 the digest of its content in hexadecimal.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Attempt tells requests for the same content apart.
	Attempt int32 `json:"attempt"`
}

// Requests are by the name of the node. They stay until they are answered.
type Requests map[string]Request

// RequestsName is the name of the ConfigMap for the nodes of a role.
func RequestsName(role string) string { return "apply-" + role }

// Answered reports whether the report of a node is the answer to a request.
func (r Report) Answered(request Request) bool {
	return r.Result != "" && r.SHA256 == request.SHA256 && (r.Attempt == request.Attempt || r.Good())
}

// Good reports whether the node has the document that the report names.
func (r Report) Good() bool { return r.Result == "applied" || r.Result == "unchanged" }

// Encode returns the data of the ConfigMap. The same requests always give the same bytes.
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

// DecodeRequests reads what is below RequestsKey. Nothing is no requests.
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
