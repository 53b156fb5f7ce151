// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
)

// verbs calls an extender in each of the four ways.
func verbs() map[string]func(fwk.Extender) error {
	return map[string]func(fwk.Extender) error{
		"filter": func(e fwk.Extender) error {
			kept, _, _, err := e.Filter(objects.Pod("p").Build(), makeNodes("a"))
			if err != nil && kept != nil {
				return errors.New("nodes besides an error")
			}
			return err
		},
		"prioritize": func(e fwk.Extender) error {
			_, _, err := e.Prioritize(objects.Pod("p").Build(), makeNodes("a"))
			return err
		},
		"preempt": func(e fwk.Extender) error {
			_, err := e.ProcessPreemption(objects.Pod("p").Build(), map[string]*extenderv1.Victims{}, lister{})
			return err
		},
		"bind": func(e fwk.Extender) error { return e.Bind(&v1.Binding{}) },
	}
}

func TestBadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		code   int
		answer string
		want   []string
	}{
		{"internal error", 500, "panic: no database\n", []string{"code 500", `"panic: no database"`}},
		{"unavailable, without a word", 503, "", []string{"code 503"}},
		{"not found", 404, "404 page not found", []string{"code 404", "page not found"}},
		{"created", 201, "{}", []string{"code 201"}},
		{"a long page", 502, strings.Repeat("é", 10_000), []string{"code 502", "é...\""}},
		{"not JSON", 200, "<html>login</html>", []string{"whose response is not a", `"<html>login</html>"`}},
		{"cut off", 200, `{"NodeNames": ["a"`, []string{"whose response is not a"}},
		{"empty", 200, "", []string{"the answer is empty"}},
		{"another type", 200, `"yes"`, []string{"whose response is not a", `"\"yes\""`}},
	}
	for _, tt := range tests {
		for verb, call := range verbs() {
			t.Run(tt.name+"/"+verb, func(t *testing.T) {
				server := newService(t, tt.code, tt.answer)
				err := call(newExtender(t, server.URL))
				wantError(t, err, append(tt.want, "failed "+verb+" with extender at URL "+server.URL+"/scheduler/"+verb)...)
				if len(err.Error()) > 1000 {
					t.Errorf("the error has %d characters", len(err.Error()))
				}
			})
		}
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for verb, call := range verbs() {
		wantError(t, call(newExtender(t, server.URL)), "calling "+verb, server.URL, "refused")
	}
	for _, url := range []string{"", "example.com", "http://\x7f"} {
		for verb, call := range verbs() {
			wantError(t, call(newExtender(t, url)), verb)
		}
	}
}

// hangs is a service that answers when the test ends, before or after it has sent headers.
func hangs(t *testing.T, headers bool) string {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if headers {
			_, _ = io.WriteString(w, "{")
			w.(http.Flusher).Flush()
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(over)
		server.Close()
	})
	return server.URL
}

func TestTimeout(t *testing.T) {
	for _, headers := range []bool{false, true} {
		url := hangs(t, headers)
		for verb, call := range verbs() {
			e := newExtender(t, url, func(settings *configv1.Extender) {
				settings.HTTPTimeout = metav1.Duration{Duration: 20 * time.Millisecond}
			})
			err := call(e)
			wantError(t, err, url, verb)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want that the deadline was exceeded", err)
			}
		}
	}
}

func TestContextEndsCalls(t *testing.T) {
	url := hangs(t, false)
	for verb, call := range verbs() {
		ctx, cancel := context.WithCancel(t.Context())
		e := newExtender(t, url).(*extender.Extender)
		failed := make(chan error)
		go func() { failed <- call(e.WithContext(ctx)) }()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that the context was cancelled", verb, err)
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/scheduler/preempt" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "{}\n")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	e := newExtender(t, server.URL)
	for range 3 {
		for _, verb := range []string{"bind", "filter", "preempt"} {
			_ = verbs()[verb](e)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections, want one", got)
	}
}
