package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// mostPods is the maximum number of pods that are offered to choose from.
const mostPods = 50

// way is the name of the document about a question, which the page of pods shows.
const way = "way"

// Pages are the names of the pages whose documents need no parameter, in the order of the menu.
func Pages() []string {
	return []string{"overview", "nodes", "paths", "change", "history", "hosts", "pods"}
}

// Document returns the document of a page for GET /api/v1/PAGE, GET /api/v1/PAGE/NAME and cno ui PAGE -o json. query has the
// parameters of the page. The error is page.ErrUnknown for a page that does not exist.
func Document(ctx context.Context, s page.Source, name, object string, query url.Values) (any, error) {
	switch {
	case name == "nodes" && object != "":
		return s.Node(ctx, object)
	case object != "":
		return nil, fmt.Errorf("there is no page %q: %w", name+"/"+object, page.ErrUnknown)
	}
	switch name {
	case "overview":
		return s.Overview(ctx)
	case "nodes":
		return s.Nodes(ctx)
	case "paths":
		return s.Paths(ctx)
	case "change":
		return s.Change(ctx)
	case "history":
		return s.History(ctx)
	case "hosts":
		return s.Hosts(ctx)
	case "pods":
		return s.PodNames(ctx, query.Get("search"), mostPods)
	case way:
		port, err := strconv.ParseUint(query.Get("port"), 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%w: port %q is not a number of 1 to 65535", page.ErrQuestion, query.Get("port"))
		}
		return s.Way(ctx, page.Question{From: query.Get("from"), To: query.Get("to"), Protocol: query.Get("protocol"), Port: uint16(port)})
	}
	return nil, fmt.Errorf("there is no page %q: %w", name, page.ErrUnknown)
}

// Session has the data of the server that pages need.
type Session struct {
	// Name is the name of the cluster, archive or file. Archive is true for an archive, File for a file with configuration of hosts.
	Name    string `json:"name"`
	Archive bool   `json:"archive,omitempty"`
	File    bool   `json:"file,omitempty"`
	Version string `json:"version"`
	// MayChange and MayTest are true if the user may change the network, and run connectivity tests.
	MayChange bool `json:"mayChange"`
	MayTest   bool `json:"mayTest"`
}

func (s *Server) serveSession(w http.ResponseWriter, r *http.Request) {
	session := Session{Name: s.options.Name, Version: s.options.Version}
	session.File = s.options.Source.Draft != nil
	session.Archive = s.options.Actions == nil && !session.File
	if s.options.Actions != nil {
		var err error
		if session.MayChange, session.MayTest, err = s.options.Actions.Permissions(r.Context()); err != nil {
			failed(w, err)
			return
		}
	}
	answer(w, session)
}

func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request) {
	doc, err := Document(r.Context(), s.options.Source, r.PathValue("page"), r.PathValue("name"), r.URL.Query())
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, doc)
}

// answer writes a document.
func answer(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // an error means that the browser has closed the connection
}

// failed writes an error with the status that it means.
func failed(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	status := http.StatusBadGateway
	switch {
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, page.ErrUnknown):
		status = http.StatusNotFound
	case errors.Is(err, page.ErrQuestion):
		status = http.StatusBadRequest
	case errors.Is(err, ErrRefused):
		status = http.StatusConflict
	case apierrors.IsForbidden(err):
		status = http.StatusForbidden
	}
	fail(w, status, err.Error())
}

// fail writes an error as a document with one sentence.
func fail(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": sentence})
}
