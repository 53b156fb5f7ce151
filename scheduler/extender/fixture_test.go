// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
)

// service is an extender that answers every request with the same text, and keeps what it was asked.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	requests []received
}

// received is one request that a service got.
type received struct {
	Method, Path, ContentType string
	Body                      string
}

func newService(t *testing.T, code int, answer string) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(s.handler(code, answer))
	t.Cleanup(s.Close)
	return s
}

func (s *service) handler(code int, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, received{r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body)})
		s.mu.Unlock()
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}
}

// sent decodes the body of the only request, and checks the rest of it.
func (s *service) sent(t *testing.T, path string, into any) {
	t.Helper()
	if len(s.requests) != 1 {
		t.Fatalf("got %d requests, want one", len(s.requests))
	}
	got := s.requests[0]
	if got.Method != http.MethodPost || got.Path != path || got.ContentType != "application/json" {
		t.Errorf("got %s %s with %s, want POST %s with application/json", got.Method, got.Path, got.ContentType, path)
	}
	decoder := json.NewDecoder(strings.NewReader(got.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("request %s: %v", got.Body, err)
	}
}

// newExtender builds an extender for a URL with every verb.
func newExtender(t *testing.T, url string, change ...func(*configv1.Extender)) fwk.Extender {
	t.Helper()
	settings := configv1.Extender{
		URLPrefix: url + "/scheduler//", FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind", Weight: 3,
	}
	for _, apply := range change {
		apply(&settings)
	}
	configuration := profiles.Default()
	configuration.Extenders = []configv1.Extender{settings}
	extenders, err := extender.New(configuration)
	if err != nil {
		t.Fatal(err)
	}
	return extenders[0]
}

func cached(settings *configv1.Extender) { settings.NodeCacheCapable = true }

func withoutVerbs(settings *configv1.Extender) {
	settings.FilterVerb, settings.PrioritizeVerb, settings.PreemptVerb, settings.BindVerb = "", "", "", ""
}

func inRack(name string) *v1.Node { return objects.Node(name).Label("rack", "r1").Build() }

// makeNodes returns nodes, each with a pod that is called like it, behind "on-".
func makeNodes(names ...string) []fwk.NodeInfo {
	var nodes []fwk.NodeInfo
	for _, name := range names {
		node := framework.NewNodeInfo(objects.Pod("on-" + name).Build())
		node.SetNode(inRack(name))
		nodes = append(nodes, node)
	}
	return nodes
}

func namesOf(nodes []fwk.NodeInfo) []string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Node().Name)
	}
	return names
}

// wantError checks that an error has all of the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
