package checktarget

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

func TestBothFamiliesAreServedAndShutdownIsGraceful(t *testing.T) {
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener) }()
	for _, host := range []string{"127.0.0.1", "::1"} {
		response, err := http.Get("http://" + net.JoinHostPort(host, port) + "/any")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || string(body) != answer {
			t.Errorf("%s: %d %q", host, response.StatusCode, body)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestFailedListenerIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	if err := Serve(t.Context(), listener); err == nil {
		t.Error("no error")
	}
}
