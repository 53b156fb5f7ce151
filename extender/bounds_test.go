// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"io"
	"net/http"
	"net/http/httptest"
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

func TestBoundedReader(t *testing.T) {
	for size, fits := range map[int]bool{9: true, 10: false, 11: false} {
		read, err := io.ReadAll(&boundedReader{from: strings.NewReader(strings.Repeat("x", size)), left: 10})
		if (err == nil) != fits || len(read) != min(size, 10) {
			t.Errorf("read %d of %d bytes, error %v; want an error: %v", len(read), size, err, !fits)
		}
	}
}
