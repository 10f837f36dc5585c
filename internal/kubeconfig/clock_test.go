package kubeconfig

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestTheClockIsThatOfTheServer(t *testing.T) {
	local := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", date) }))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	clock := NewClock(config, func() time.Time { return local })
	if got := clock.Now(); !got.Equal(local) {
		t.Errorf("before the first answer it is %s", got)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why, date string
		want      time.Time
	}{
		{"the server is an hour ahead", local.Add(time.Hour).Format(http.TimeFormat), local.Add(time.Hour)},
		{"an answer with an unreadable date", "yesterday", local.Add(time.Hour)},
		{"the server is a day behind", local.Add(-24 * time.Hour).Format(http.TimeFormat), local.Add(-24 * time.Hour)},
	} {
		date = row.date
		response, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := clock.Now(); !got.Equal(row.want) {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}
