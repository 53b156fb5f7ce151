// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	restclient "k8s.io/client-go/rest"
)

// lease is a leadership that a test decides about.
type lease struct{ leads, expired bool }

func (l *lease) IsLeader() bool { return l.leads }

func (l *lease) Check(time.Duration) error {
	if l.expired {
		return errors.New("expired")
	}
	return nil
}

// sent counts the requests that arrive.
type sent struct{ requests int }

func (s *sent) RoundTrip(*http.Request) (*http.Response, error) {
	s.requests++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// A process that was stopped until its Lease ran out, and goes on in the middle of its bindings, reads what it likes and
// changes nothing.
func TestNothingIsChangedWithoutTheLease(t *testing.T) {
	for name, test := range map[string]struct {
		leadership leadership
		method     string
		passes     bool
	}{
		"no election":                    {nil, http.MethodPost, true},
		"leader":                         {&lease{leads: true}, http.MethodPut, true},
		"another leads":                  {&lease{}, http.MethodPatch, false},
		"the Lease has run out":          {&lease{leads: true, expired: true}, http.MethodPost, false},
		"the Lease has run out, deletes": {&lease{leads: true, expired: true}, http.MethodDelete, false},
		"the Lease has run out, reads":   {&lease{leads: true, expired: true}, http.MethodGet, true},
	} {
		t.Run(name, func(t *testing.T) {
			var f fence
			if test.leadership != nil {
				f.start(test.leadership)
			}
			server := &sent{}
			config := f.fenced(&restclient.Config{Host: "https://server.example", Transport: server})
			client, err := restclient.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequest(test.method, "https://server.example/api/v1/pods", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				response.Body.Close()
			}
			if passed := server.requests == 1; passed != test.passes || (err == nil) != test.passes {
				t.Errorf("the request arrived: %v, error: %v, want it to arrive: %v", passed, err, test.passes)
			}
			if !test.passes && !errors.Is(err, errNotLeading) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
