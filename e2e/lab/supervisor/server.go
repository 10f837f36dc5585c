package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
)

// Handler serves the supervisor's methods to a Client.
func (s *Supervisor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /units", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(s.Status()); err != nil {
			s.log.Error("answer a status request", "err", err)
		}
	})
	mux.HandleFunc("POST /units", func(w http.ResponseWriter, r *http.Request) {
		var u Unit
		err := json.NewDecoder(r.Body).Decode(&u)
		if err == nil {
			err = s.Start(u)
		}
		answer(w, err)
	})
	mux.HandleFunc("POST /units/{name}/stop", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), StopTimeout)
		defer cancel()
		answer(w, s.Stop(ctx, r.PathValue("name")))
	})
	mux.HandleFunc("POST /units/{name}/signal/{signal}", func(w http.ResponseWriter, r *http.Request) {
		var number int
		if _, err := fmt.Sscan(r.PathValue("signal"), &number); err != nil {
			answer(w, fmt.Errorf("read the signal's number: %w", err))
			return
		}
		answer(w, s.Signal(r.PathValue("name"), syscall.Signal(number)))
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	}
}
