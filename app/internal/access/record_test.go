// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/app/internal/access"
)

// answer is what a server answers to everything.
type answer struct {
	code int
	body string
}

func forbidden(verb, resource string) answer {
	return answer{http.StatusForbidden, fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure",`+
		`"message":"%[2]s is forbidden: User \"u\" cannot %[1]s resource \"%[2]s\" in API group \"\" at the cluster scope","reason":"Forbidden","code":403}`,
		verb, resource)}
}

// server answers as it is told to, and records through a client what that means.
type server struct {
	answer atomic.Pointer[answer]
	record *access.Record
	client clientset.Interface
	clock  *testingclock.FakePassiveClock
	log    func() string
	close  func()
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{clock: testingclock.NewFakePassiveClock(time.Unix(0, 0))}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a := s.answer.Load()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.code)
		fmt.Fprint(w, a.body)
	}))
	t.Cleanup(listener.Close)
	s.close = listener.Close
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	s.log = logger.GetSink().(ktesting.Underlier).GetBuffer().String
	s.record = access.NewRecord(access.Options{Logger: logger, Clock: s.clock})
	config := &restclient.Config{Host: listener.URL}
	config.Wrap(s.record.Wrap)
	var err error
	if s.client, err = clientset.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return s
}

// listNodes lists nodes and returns the error.
func (s *server) listNodes(a answer) error {
	s.answer.Store(&a)
	_, err := s.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	return err
}

func TestRefusedRequestsAreNamedUntilTheyArePermitted(t *testing.T) {
	s := newServer(t)
	err := s.listNodes(forbidden("list", "nodes"))
	if err == nil || !strings.Contains(err.Error(), `cannot list resource "nodes"`) {
		t.Errorf("the client got the error %v: the body did not reach it", err)
	}
	if err := s.record.Check(); err == nil || err.Error() != "the API server does not permit: list nodes" {
		t.Errorf("check: %v", err)
	}
	want := `verb="list" apiGroup="" resource="nodes" message="User \"u\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"`
	if !strings.Contains(s.log(), want) {
		t.Errorf("the log does not say %s:\n%s", want, s.log())
	}
	if err := s.listNodes(answer{http.StatusOK, `{"kind":"NodeList","apiVersion":"v1"}`}); err != nil {
		t.Fatal(err)
	}
	if err := s.record.Check(); err != nil {
		t.Errorf("after an answer: %v", err)
	}
	if !strings.Contains(s.log(), "no longer turns down a request") {
		t.Errorf("the log does not say that it is permitted now:\n%s", s.log())
	}
}

// unended is a body whose end does not come: it is told when the reader waits for it.
type unended struct {
	io.Reader
	waits func()
}

func (u *unended) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil {
		u.waits()
	}
	return n, err
}

func (u *unended) Close() error { return nil }

func (u *unended) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Body: u, Header: http.Header{"Content-Type": {"application/json"}}}, nil
}

// A refusal is known as soon as its message has arrived, though the end of the answer has not.
func TestRefusalsAreKnownBeforeTheAnswerEnds(t *testing.T) {
	record := access.NewRecord(access.Options{})
	var known []access.Request
	waited := false
	server := &unended{strings.NewReader(forbidden("list", "nodes").body), func() {
		if !waited {
			waited, known = true, record.Refused()
		}
	}}
	request, err := http.NewRequest(http.MethodGet, "https://server.example/api/v1/nodes", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := record.Wrap(server).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if waited {
		t.Error("the answer was read to its end before the client had it")
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]access.Request{{Verb: "list", Resource: "nodes"}}, known); diff != "" {
		t.Errorf("refused while the end of the answer is awaited (-want +got):\n%s", diff)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhoMayWatchNeedNotList(t *testing.T) {
	s := newServer(t)
	_ = s.listNodes(forbidden("list", "nodes"))
	s.answer.Store(&answer{http.StatusOK, ""})
	watcher, err := s.client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher.Stop()
	if err := s.record.Check(); err != nil {
		t.Error(err)
	}
}

func TestWhatLastsIsLoggedOnceAMinute(t *testing.T) {
	s := newServer(t)
	count := func() int { return strings.Count(s.log(), "does not permit a request") }
	for range 3 {
		_ = s.listNodes(forbidden("list", "nodes"))
	}
	if got := count(); got != 1 {
		t.Errorf("logged %d times at once", got)
	}
	s.clock.SetTime(time.Unix(61, 0))
	_ = s.listNodes(forbidden("list", "nodes"))
	if got := count(); got != 2 {
		t.Errorf("logged %d times after a minute, want 2", got)
	}
}

func TestRefusalsForOtherReasons(t *testing.T) {
	s := newServer(t)
	_ = s.listNodes(answer{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"nodes is forbidden: exceeded quota","code":403}`})
	if refused := s.record.Refused(); len(refused) > 0 {
		t.Errorf("a quota counts as a missing permission: %v", refused)
	}
}

func TestRequestsThatInformersDoNotRepeatAreForgotten(t *testing.T) {
	s := newServer(t)
	a := answer{http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","message":"User \"u\" cannot patch resource \"pods/status\" in API group \"\""}`}
	s.answer.Store(&a)
	_, _ = s.client.CoreV1().Pods("default").Patch(context.Background(), "p", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}, "status")
	_ = s.listNodes(forbidden("list", "nodes"))
	want := []access.Request{{Verb: "list", Resource: "nodes"}, {Verb: "patch", Resource: "pods/status"}}
	if diff := cmp.Diff(want, s.record.Refused()); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	s.clock.SetTime(time.Unix(301, 0))
	if diff := cmp.Diff(want[:1], s.record.Refused()); diff != "" {
		t.Errorf("refused, five minutes later (-want +got):\n%s", diff)
	}
}

func TestKindsThatDoNotExist(t *testing.T) {
	s := newServer(t)
	nodes, pods := schema.GroupResource{Resource: "nodes"}, schema.GroupResource{Resource: "pods"}
	_ = s.listNodes(answer{http.StatusNotFound, "404 page not found"})
	if !s.record.Absent(nodes) || s.record.Absent(pods) {
		t.Errorf("absent: nodes %t, pods %t; want only nodes", s.record.Absent(nodes), s.record.Absent(pods))
	}
	if !strings.Contains(s.log(), `does not know a kind`) {
		t.Errorf("the log does not name it:\n%s", s.log())
	}
	_, _ = s.client.CoreV1().Pods("default").Get(context.Background(), "p", metav1.GetOptions{})
	if s.record.Absent(pods) {
		t.Error("a pod that does not exist makes pods absent")
	}
	_ = s.listNodes(answer{http.StatusOK, `{"kind":"NodeList","apiVersion":"v1"}`})
	if s.record.Absent(nodes) {
		t.Error("nodes stay absent when they are there")
	}
}

func TestUnreachable(t *testing.T) {
	s := newServer(t)
	if err := s.record.Unreachable(); err != nil {
		t.Errorf("before any request: %v", err)
	}
	s.close()
	_ = s.listNodes(answer{})
	_ = s.listNodes(answer{})
	if err := s.record.Unreachable(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if err := s.record.Check(); err != nil {
		t.Errorf("a lost connection counts as a missing permission: %v", err)
	}
	if got := strings.Count(s.log(), "cannot be reached"); got != 1 {
		t.Errorf("logged %d times:\n%s", got, s.log())
	}
}

func TestGivingUpSaysNothingAboutTheServer(t *testing.T) {
	s := newServer(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.answer.Store(&answer{http.StatusOK, "{}"})
	_, err := s.client.CoreV1().Nodes().List(ended, metav1.ListOptions{})
	if err == nil {
		t.Fatal("the request was made")
	}
	if err := s.record.Unreachable(); err != nil {
		t.Errorf("got %v", err)
	}
}

func ExampleRecord() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"User \"scheduler\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"}`)
	}))
	defer server.Close()
	record := access.NewRecord(access.Options{})
	config := &restclient.Config{Host: server.URL}
	config.Wrap(record.Wrap)
	client := clientset.NewForConfigOrDie(config)
	_, _ = client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	fmt.Println(record.Check())
	// Output: the API server does not permit: list nodes
}
