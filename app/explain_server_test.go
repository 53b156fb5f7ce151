// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/app"
)

// explainPod runs rouse explain pod next to a scheduler that runs in the same process, and so leaves the log alone.
func explainPod(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := app.NewSchedulerCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(io.Discard)
	command.SetArgs(append([]string{"explain", "pod"}, args...))
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

// waitingPods is an API server with pods in every state that lasts.
func waitingPods(t *testing.T) *apiServer {
	t.Helper()
	pod := func(name, spec, status string) string {
		return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"shop","uid":%[1]q,"resourceVersion":"1"},
			"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"8"}}}]%s},"status":{"phase":"Pending"%s}}`, name, spec, status)
	}
	server := newAPIServer(t)
	server.objects = map[string][]string{
		"nodes": {`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1","uid":"n1","resourceVersion":"1"},"status":{"allocatable":{"cpu":"10","memory":"8Gi","pods":"110"}}}`},
		"pods": {
			pod("db", `,"nodeName":"n1"`, `,"startTime":"2026-01-01T09:30:00Z"`),
			pod("web", "", ""),
			pod("gated", `,"schedulingGates":[{"name":"example.com/quota"}]`, ""),
			strings.Replace(pod("others", "", ""), "default-scheduler", "another", 1),
		},
	}
	return server
}

func TestExplainPodOfScheduler(t *testing.T) {
	r := start(t, waitingPods(t), []string{"--leader-elect=false", open})
	r.answers("/readyz", 200)
	ask := func(args ...string) (string, error) {
		return explainPod(t, append(args, "--server", r.url, "--insecure-skip-tls-verify")...)
	}
	var text string
	r.eventually("the pod waits", func() (bool, string) {
		var err error
		if text, err = ask("shop/web"); err != nil {
			return false, err.Error()
		}
		return strings.HasPrefix(text, "Pod shop/web waits for an event: "), text
	})
	for _, want := range []string{
		"  NodeResourcesFit      1  Insufficient cpu\n",
		"  NodeResourcesFit  a pod on a node ends or asks for less; ",
		"  n1  1 blocker\n    NodeResourcesFit  cpu: asks 8, free 2 of 10\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not contain %q:\n%s", want, text)
		}
	}
	inJSON, err := ask("shop/web", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	explanation := decode[documentedExplanation](t, inJSON)
	if explanation.Pool != "unschedulable" || explanation.Attempts != 1 || explanation.AllNodes != 1 || explanation.HeardSince == "" || strings.Contains(inJSON, "null") {
		t.Errorf("explanation %s", inJSON)
	}
	for pod, want := range map[string]string{
		"shop/db":     "Pod shop/db is on node n1.\nSince 2026-01-01T09:30:00Z; it is 2",
		"shop/gated":  "\n  SchedulingGates (PreEnqueue)      -  waiting for scheduling gates: [example.com/quota]\n",
		"shop/others": "\nno profile has the scheduler name another\n",
	} {
		if text, err := ask(pod); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s\nwant %q in it", pod, err, text, want)
		}
	}
	if text, err := ask("shop/web", "--nodes", "0"); err != nil || strings.Contains(text, "The closest") {
		t.Errorf("without nodes: %v\n%s", err, text)
	}
	for pod, want := range map[string]string{
		"shop/wed": `Z; did you mean "shop/web"?`,
		"web":      `Z; did you mean "shop/web"?`,
		"a/b":      "Z",
	} {
		if _, err := ask(pod); err == nil || !strings.HasPrefix(err.Error(), "there is no pod ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that ends with %q", pod, err, want)
		}
	}
}

func TestExplainPodOfSchedulerThatCannotTell(t *testing.T) {
	t.Run("standby", func(t *testing.T) {
		server := newAPIServer(t)
		server.hold("the-leader", 3600)
		r := start(t, server, quick())
		r.answers("/readyz", 200)
		r.eventually("it names the leader", func() (bool, string) {
			_, err := explainPod(t, "web", "--server", r.url, "--insecure-skip-tls-verify")
			return err != nil && strings.HasSuffix(err.Error(), "code 503: this replica is not the leader; ask the leader, the-leader"), fmt.Sprint(err)
		})
	})
	t.Run("starting", func(t *testing.T) {
		server := newAPIServer(t)
		server.forbidden = []string{"nodes"}
		r := start(t, server, []string{"--leader-elect=false", open})
		r.answers("/livez", 200)
		_, err := explainPod(t, "web", "--server", r.url, "--insecure-skip-tls-verify")
		if err == nil || !strings.HasSuffix(err.Error(), "code 503: this process does not schedule yet; try again in a moment") {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("strict", func(t *testing.T) {
		r := start(t, newAPIServer(t), []string{"--leader-elect=false"})
		r.answers("/readyz", 200)
		_, err := explainPod(t, "web", "--server", r.url, "--insecure-skip-tls-verify")
		if want := r.url + " does not explain pods without credentials; give a token with --token-file, such as one of 'kubectl create token'"; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %q", err, want)
		}
	})
}

// answering is a server with TLS that answers everything alike, and the flags to ask it.
func answering(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, flags []string) {
	t.Helper()
	server = httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return server, []string{"--server", server.URL, "--certificate-authority", write(t, t.TempDir(), "ca.crt", string(authority))}
}

func TestExplainPodAsksAsKubectlWould(t *testing.T) {
	var asked []string
	server, flags := answering(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"namespace":"shop","name":"web","at":"2026-01-01T00:00:00Z","pool":"bound","node":"n1"}`)
	})
	token := write(t, t.TempDir(), "token", "secret\n")
	host := strings.TrimPrefix(server.URL, "https://")
	for _, args := range [][]string{
		append(flags, "shop/web", "--token-file", token, "--nodes", "7"),
		{"shop/web", "--insecure-skip-tls-verify", "--server", host},
		{"web", "--insecure-skip-tls-verify", "--server", server.URL + "/proxy/"},
	} {
		text, err := explainPod(t, args...)
		if want := "Pod shop/web is on node n1.\nIt is 2026-01-01T00:00:00Z now.\n"; err != nil || text != want {
			t.Errorf("%v: %v, %q", args, err, text)
		}
	}
	want := []string{
		"GET /explain/pods/shop/web?nodes=7 Bearer secret",
		"GET /explain/pods/shop/web?nodes=3 ",
		"GET /proxy/explain/pods/default/web?nodes=3 ",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked differs (-want +got):\n%s", diff)
	}
}

func TestExplainPodRefused(t *testing.T) {
	status := func(message, details string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","message":%q%s}`, message, details)
	}
	token := write(t, t.TempDir(), "token", "secret")
	for name, test := range map[string]struct {
		code int
		body string
		args []string
		want string
	}{
		"unknown user":        {401, status("Unauthorized", ""), nil, "URL requires authentication; give a token with --token-file, such as one of 'kubectl create token'"},
		"expired token":       {401, status("Unauthorized", ""), []string{"--token-file", token}, "URL does not accept the token in " + token + "; has it expired?"},
		"user without rights": {403, status("User cannot get path", ""), []string{"--token-file", token}, `URL: User cannot get path; that takes a role with {nonResourceURLs: ["/explain/pods/*"], verbs: [get]}`},
		"no such pod":         {404, status("there is no pod", `,"details":{"kind":"pods","name":"web"}`), nil, "there is no pod"},
		"no such path":        {404, "404 page not found\n", nil, "URL does not explain pods: it has no /explain/pods/; is it the URL of a 'rouse run' of this version?"},
		"no leader":           {503, status("ask the leader", ""), nil, "URL answers with code 503: ask the leader"},
		"a server error":      {500, "<html>", nil, "URL answers with code 500: Internal Server Error"},
		"another service":     {200, "hello", nil, "the response of URL is not an explanation; is it the URL of a 'rouse run'?"},
		"another API":         {200, "{}", nil, "the response of URL is not an explanation; is it the URL of a 'rouse run'?"},
		"a redirection":       {302, "", nil, "URL answers with code 302: Found"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server, flags := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.code)
				fmt.Fprint(w, test.body)
			})
			got := rouse(t, append(append([]string{"explain", "pod", "web"}, flags...), test.args...))
			want := "Error: " + strings.ReplaceAll(test.want, "response of URL", "response of "+server.URL)
			want = strings.Replace(want, "Error: URL", "Error: "+server.URL, 1) + "\n"
			if got.code != 2 || got.stderr != want || got.stdout != "" || requests != 1 {
				t.Errorf("exit code %d after %d requests, standard error\n%swant\n%s", got.code, requests, got.stderr, want)
			}
		})
	}
}

func TestExplainPodUnreachable(t *testing.T) {
	hangs, flags := answering(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	plain := httptest.NewServer(http.NotFoundHandler())
	plain.Close()
	open := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(open.Close)
	folder := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"slow":               {append(flags, "--request-timeout", "20ms"), hangs.URL + " did not answer within 20ms; --request-timeout gives it more time"},
		"unknown authority":  {[]string{"--server", hangs.URL}, "the certificate of " + hangs.URL + " cannot be verified: x509: "},
		"no server there":    {[]string{"--server", plain.URL}, "asking " + plain.URL + ": dial tcp "},
		"not HTTPS":          {[]string{"--server", strings.TrimPrefix(open.URL, "http://")}, "HTTPS"},
		"no such token":      {append(flags, "--token-file", filepath.Join(folder, "none")), "reading the token: open "},
		"empty token":        {append(flags, "--token-file", write(t, folder, "empty", "\n")), "empty, is empty"},
		"no such authority":  {[]string{"--server", hangs.URL, "--certificate-authority", filepath.Join(folder, "none")}, "preparing to ask " + hangs.URL},
		"trust and distrust": {append(flags, "--insecure-skip-tls-verify"), "preparing to ask " + hangs.URL},
		"token for everyone": {[]string{"--server", open.URL, "--token-file", "token"}, "--token-file needs an https URL"},
		"not a URL":          {[]string{"--server", "ftp://x"}, `--server is "ftp://x", but must be a URL such as https://localhost:10259`},
		"no server":          {[]string{"--insecure-skip-tls-verify"}, "needs --server, the URL of the scheduler to ask"},
		"and a scenario":     {append(flags, "--scenario", "x.yaml"), "--scenario is for a simulation, and cannot be used with --server"},
		"at a time":          {append(flags, "--at", "5s"), "--at is for a simulation, and cannot be used with --server"},
		"two pods":           {append(flags, "b"), `takes one pod, but got "b" as well`},
	} {
		t.Run(name, func(t *testing.T) {
			got := rouse(t, append([]string{"explain", "pod", "web"}, test.args...))
			if got.code != 2 || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
				t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, test.want)
			}
		})
	}
}
