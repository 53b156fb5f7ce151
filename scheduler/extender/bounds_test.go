// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/profiles"
)

// An answer without an end must not fill the memory, whether it is valid or not.
func TestAnswersAreBounded(t *testing.T) {
	for name, piece := range map[string]string{"valid all along": strings.Repeat(" ", 1024), "not JSON": strings.Repeat("x", 1024)} {
		for _, code := range []int{http.StatusOK, http.StatusInternalServerError} {
			t.Run(name+"/"+http.StatusText(code), func(t *testing.T) {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(code)
					for {
						if _, err := io.WriteString(w, piece); err != nil {
							return
						}
					}
				}))
				defer server.Close()
				configuration := profiles.Default()
				configuration.Extenders = []configv1.Extender{{URLPrefix: server.URL, BindVerb: "bind"}}
				extenders, err := New(configuration)
				if err != nil {
					t.Fatal(err)
				}
				e := extenders[0].(*Extender)
				e.maxAnswer = 10_000
				if err := e.Bind(&v1.Binding{}); err == nil || !strings.Contains(err.Error(), server.URL) {
					t.Errorf("error %v, want one that names %s", err, server.URL)
				}
			})
		}
	}
}

// pieces is the body of an answer that comes in pieces, and knows whether it was read to its end and closed.
type pieces struct {
	left          []string
	ended, closed bool
}

// Read implements io.Reader.
func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		p.ended = true
		return 0, io.EOF
	}
	n := copy(into, p.left[0])
	if p.left[0] = p.left[0][n:]; p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// Close implements io.Closer.
func (p *pieces) Close() error {
	p.closed = true
	return nil
}

// answering is a transport that has the answer.
type answering struct {
	code int
	body io.ReadCloser
}

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.code, Body: a.body, Request: request}, nil
}

// A connection can be used again only if the answer was read to its end, and it leaks if the answer is not closed.
func TestConnectionsAreGivenBack(t *testing.T) {
	tests := []struct {
		name  string
		code  int
		body  []string
		ended bool
	}{
		{"an answer and a line feed", http.StatusOK, []string{"{}", "\n"}, true},
		{"a short page", http.StatusBadGateway, []string{"bad ", "gateway"}, true},
		{"an answer that goes on", http.StatusOK, slices.Repeat([]string{"{}"}, 1000), false},
		{"a long page", http.StatusBadGateway, slices.Repeat([]string{"bad gateway"}, 1000), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &pieces{left: tt.body}
			e := &Extender{
				settings: configv1.Extender{BindVerb: "bind"}, prefix: "http://a", maxAnswer: maxAnswer, ctx: t.Context(),
				client: &http.Client{Transport: answering{code: tt.code, body: body}},
			}
			if err := e.Bind(&v1.Binding{}); (err == nil) != (tt.code == http.StatusOK) {
				t.Errorf("error %v", err)
			}
			if body.ended != tt.ended || !body.closed {
				t.Errorf("read to the end: %v, closed: %v; want %v, true", body.ended, body.closed, tt.ended)
			}
		})
	}
}

func TestBoundedReader(t *testing.T) {
	for size, fits := range map[int]bool{9: true, 10: false, 11: false} {
		read, err := io.ReadAll(&boundedReader{from: strings.NewReader(strings.Repeat("x", size)), left: 10})
		if (err == nil) != fits || len(read) != min(size, 10) {
			t.Errorf("read %d of %d bytes, error %v; want an error: %v", len(read), size, err, !fits)
		}
	}
}
