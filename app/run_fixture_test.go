// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/rouse-scheduler/rouse/app"
)

// limit is how long a test waits for something to happen.
const limit = 20 * time.Second

// argumentsVariable makes the process a rouse command with these arguments, separated by blanks, and no test.
const argumentsVariable = "ROUSE_TEST_ARGUMENTS"

func TestMain(m *testing.M) {
	if arguments := os.Getenv(argumentsVariable); arguments != "" {
		command := app.NewSchedulerCommand()
		command.SetArgs(strings.Fields(arguments))
		os.Exit(app.Run(command))
	}
	// Every run of the command sets up the log of the process, always in the same way.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	os.Exit(m.Run())
}

// apiServer is an API server whose objects do not change, except for one Lease. It answers in JSON alone.
type apiServer struct {
	*httptest.Server

	mu sync.Mutex
	// forbidden and absent are resources that no client may list or watch, and that do not exist.
	forbidden, absent []string
	objects           map[string][]string // by resource, in JSON; there are no others
	lease             *coordinationv1.Lease
	leaseBroken       bool
	events            []string // their reasons and messages
	asked             []string // the resources that were listed or watched
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// change changes the fields that mu protects.
func (s *apiServer) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	resource := path.Base(r.URL.Path)
	switch {
	case strings.Contains(r.URL.Path, "/leases"):
		s.serveLease(w, r)
	case strings.HasSuffix(r.URL.Path, "/events"):
		s.serveEvent(w, r)
	case r.Method != http.MethodGet:
		fail(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "only reading is possible")
	case s.has(&s.forbidden, resource):
		verb := "list"
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		}
		fail(w, http.StatusForbidden, "Forbidden", fmt.Sprintf("User \"u\" cannot %s resource %q in API group \"\" at the cluster scope", verb, resource))
	case s.has(&s.absent, resource), strings.Contains(r.URL.Path, "/pods/"): // no pod but those that are listed
		fail(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	default:
		s.change(func() { s.asked = append(s.asked, resource) })
		s.serveObjects(w, r, resource)
	}
}

func (s *apiServer) has(list *[]string, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(*list, name)
}

func fail(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: metav1.StatusReason(reason), Message: message,
	})
}

// serveObjects lists or watches the objects of a kind.
func (s *apiServer) serveObjects(w http.ResponseWriter, r *http.Request, resource string) {
	version := strings.TrimPrefix(strings.TrimPrefix(path.Dir(r.URL.Path), "/apis/"), "/api/")
	version, _, _ = strings.Cut(version, "/namespaces/")
	kind := map[string]string{
		"csidrivers": "CSIDriver", "csinodes": "CSINode", "csistoragecapacities": "CSIStorageCapacity",
		"deviceclasses": "DeviceClass", "namespaces": "Namespace", "nodes": "Node", "persistentvolumeclaims": "PersistentVolumeClaim",
		"persistentvolumes": "PersistentVolume", "poddisruptionbudgets": "PodDisruptionBudget", "pods": "Pod",
		"replicasets": "ReplicaSet", "replicationcontrollers": "ReplicationController", "resourceclaims": "ResourceClaim",
		"resourceslices": "ResourceSlice", "services": "Service", "statefulsets": "StatefulSet", "storageclasses": "StorageClass",
		"volumeattachments": "VolumeAttachment", "devicetaintrules": "DeviceTaintRule", "racks": "Rack", "configmaps": "ConfigMap",
		"priorityclasses": "PriorityClass", "resourceclaimtemplates": "ResourceClaimTemplate",
	}[resource]
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`,
			kind, version, strings.Join(s.objects[resource], ","))
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, object := range s.objects[resource] {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object)
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"1","annotations":{%q:"true"}}}}`+"\n",
			kind, version, metav1.InitialEventsAnnotationKey)
	}
	_ = http.NewResponseController(w).Flush() // the connection may be gone
	<-r.Context().Done()
}

func (s *apiServer) serveEvent(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var event struct{ Reason, Message, Note string }
	if err := json.Unmarshal(body, &event); err == nil {
		s.change(func() { s.events = append(s.events, event.Reason+": "+event.Message+event.Note) })
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body) // the connection may be gone
}

func (s *apiServer) serveLease(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.leaseBroken:
		fail(w, http.StatusInternalServerError, "InternalError", "broken")
		return
	case r.Method == http.MethodGet && s.lease == nil:
		fail(w, http.StatusNotFound, "NotFound", "not found")
		return
	case r.Method == http.MethodPost, r.Method == http.MethodPut:
		var lease coordinationv1.Lease
		if err := json.NewDecoder(r.Body).Decode(&lease); err != nil {
			fail(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		lease.Kind, lease.APIVersion = "Lease", "coordination.k8s.io/v1"
		s.lease = &lease
	}
	_ = json.NewEncoder(w).Encode(s.lease)
}

// holder returns who has the Lease; empty if no scheduler does.
func (s *apiServer) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// hold gives the Lease to another scheduler, for a while.
func (s *apiServer) hold(identity string, seconds int32) {
	s.change(func() {
		now := metav1.NowMicro()
		s.lease = &coordinationv1.Lease{
			TypeMeta:   metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"},
			ObjectMeta: metav1.ObjectMeta{Name: "kube-scheduler", Namespace: "kube-system"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &identity, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
			},
		}
	})
}

// running is a rouse run in the test process.
type running struct {
	t      *testing.T
	url    string
	client *http.Client
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// open lets everybody ask for everything.
const open = "--authorization-always-allow-paths=/*"

// start runs the command against an API server.
func start(t *testing.T, server *apiServer, flags []string, options ...app.Option) *running {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}],
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], current-context: c}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	command := app.NewSchedulerCommand(options...)
	command.SetArgs(append([]string{
		"run", "--kubeconfig=" + kubeconfig, "--kube-api-content-type=application/json", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", address.Port),
	}, flags...))
	command.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{
		t: t, url: "https://" + address.String(), cancel: cancel, ended: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
	}
	go func() {
		defer close(r.ended)
		r.err = command.ExecuteContext(ctx)
	}()
	t.Cleanup(func() {
		r.stop()
		r.client.CloseIdleConnections()
	})
	return r
}

// stop asks the process to end and returns its error.
func (r *running) stop() error {
	r.t.Helper()
	r.cancel()
	return r.wait()
}

// wait returns the error of a process that ends on its own.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case <-r.ended:
		return r.err
	case <-time.After(limit):
		r.t.Error("the process does not end")
		return errors.New("it does not end")
	}
}

// get returns what the process answers.
func (r *running) get(path string) (code int, body string) {
	r.t.Helper()
	return r.ask(http.MethodGet, path, "")
}

// put puts something to the process and returns what it answers.
func (r *running) put(path, body string) (code int, answer string) {
	r.t.Helper()
	return r.ask(http.MethodPut, path, body)
}

func (r *running) ask(method, path, text string) (code int, body string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

// eventually waits until something holds, and fails with what it says otherwise.
func (r *running) eventually(what string, holds func() (bool, string)) {
	r.t.Helper()
	var last string
	for deadline := time.After(limit); ; {
		ok, said := holds()
		if ok {
			return
		}
		last = said
		select {
		case <-r.ended:
			r.t.Fatalf("%s: the process ended: %v", what, r.err)
		case <-deadline:
			r.t.Fatalf("%s: not within %s: %s", what, limit, last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// answers waits until the process answers a path with a code.
func (r *running) answers(path string, want int) (body string) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s answers %d", path, want), func() (bool, string) {
		var code int
		code, body = r.get(path)
		return code == want, fmt.Sprintf("%d %s", code, body)
	})
	return body
}
