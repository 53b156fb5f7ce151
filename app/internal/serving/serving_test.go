// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server/healthz"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"

	"github.com/rouse-scheduler/rouse/app/internal/serving"
	"github.com/rouse-scheduler/rouse/inspect"
)

// ask returns what a handler answers to a request by a user, if there is one.
func ask(handler http.Handler, path string, header http.Header) (int, string) {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for name, values := range header {
		request.Header[name] = values
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

func failing(name string) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(*http.Request) error { return errors.New("not well") })
}

func TestProbes(t *testing.T) {
	handler := serving.NewHandler(serving.Endpoints{
		Component: "test",
		Ready:     []healthz.HealthChecker{healthz.NamedCheck("good", func(*http.Request) error { return nil }), failing("bad")},
		Health:    []healthz.HealthChecker{failing("worse")},
	})
	for _, test := range []struct {
		path string
		code int
		body string
	}{
		{"/livez", 200, "ok"},
		{"/livez?verbose", 200, "[+]ping ok\nlivez check passed\n"},
		{"/readyz", 500, "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n"},
		{"/readyz?exclude=bad", 200, "ok"},
		{"/readyz?verbose&exclude=bad&exclude=x", 200, "[+]good ok\n[+]bad excluded: ok\n" +
			"warn: some health checks cannot be excluded: no matches for \"x\"\nreadyz check passed\n"},
		{"/readyz/good", 200, "ok"},
		{"/readyz/bad", 500, "internal server error: not well\n"},
		{"/healthz", 500, "[-]worse failed: reason withheld\nhealthz check failed\n"},
		{"/flagz", 404, "404 page not found\n"},
		{"/statusz", 404, "404 page not found\n"},
		{"/debug/pprof/", 404, "404 page not found\n"},
		{"/metrics/resources", 404, "404 page not found\n"},
		{"/", 404, "404 page not found\n"},
	} {
		if code, body := ask(handler, test.path, nil); code != test.code || body != test.body {
			t.Errorf("%s answers %d %q, want %d %q", test.path, code, body, test.code, test.body)
		}
	}
}

func TestViewsOfTheProcess(t *testing.T) {
	var flags cliflag.NamedFlagSets
	flags.FlagSet("misc").String("color", "blue", "")
	handler := serving.NewHandler(serving.Endpoints{
		Component: "test", Flags: &flags, Profiling: true,
		Resources: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "pods") }),
		Version:   compatibility.NewEffectiveVersionFromString("1.37", "1.34", "1.34"),
	})
	const group = ";v=v1beta1;g=config.k8s.io;as="
	for _, test := range []struct {
		path, accept string
		code         int
		body         string
	}{
		{"/flagz", "", 200, "blue"},
		{"/flagz", "application/json" + group + "Flagz", 200, `"flags":{"color":"blue"}`},
		{"/statusz", "", 200, "1.37"},
		{"/statusz", "application/json" + group + "Statusz", 200, `"binaryVersion":"1.37`},
		{"/statusz", "application/json", 406, "only the following media types are accepted"},
		{"/metrics/resources", "", 200, "pods"},
		{"/metrics", "", 200, "go_goroutines"},
		{"/debug/pprof/cmdline", "", 200, ""},
		{"/configz", "", 200, "{}"},
	} {
		code, body := ask(handler, test.path, http.Header{"Accept": {test.accept}})
		if code != test.code || !strings.Contains(body, test.body) {
			t.Errorf("%s as %q answers %d %.300q, want %d with %q", test.path, test.accept, code, body, test.code, test.body)
		}
	}
}

// explaining explains the pod shop/web.
type explaining struct{}

func (explaining) Explain(_ context.Context, namespace, name string, nodes int) (*inspect.Explanation, error) {
	switch namespace + "/" + name {
	case "shop/web":
		return &inspect.Explanation{Namespace: namespace, Name: name, AllNodes: nodes}, nil
	case "shop/early":
		return nil, apierrors.NewServiceUnavailable("ask again")
	case "shop/broken":
		return nil, errors.New("a plugin is broken")
	}
	return nil, fmt.Errorf("%w, sorry", &inspect.NoSuchPodError{Namespace: namespace, Name: name, At: "noon"})
}

func TestExplain(t *testing.T) {
	handler := serving.NewHandler(serving.Endpoints{Explainer: explaining{}})
	for _, test := range []struct {
		path string
		code int
		body string
	}{
		{"/explain/pods/shop/web", 200, `"allNodes":3`},
		{"/explain/pods/shop/web?nodes=0", 200, `"allNodes":0`},
		{"/explain/pods/shop/web?nodes=-1", 400, `"message":"nodes is \"-1\", but must be a number that is not negative"`},
		{"/explain/pods/shop/web?nodes=x", 400, `"reason":"BadRequest"`},
		{"/explain/pods/web", 400, `"message":"\"/explain/pods/web\" is not the path of a pod; write /explain/pods/NAMESPACE/NAME"`},
		{"/explain/pods/shop/web/status", 400, `"kind":"Status"`},
		{"/explain/pods//web", 400, `"kind":"Status"`},
		{"/explain/pods/", 400, `"kind":"Status"`},
		{"/explain/pods/shop/wed", 404, `"message":"there is no pod shop/wed at noon, sorry","reason":"NotFound","details":{"name":"wed","kind":"pods"}`},
		{"/explain/pods/shop/early", 503, `"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ask again","reason":"ServiceUnavailable"`},
		{"/explain/pods/shop/broken", 500, `"message":"a plugin is broken","reason":"InternalError"`},
	} {
		code, body := ask(handler, test.path, nil)
		if compact := strings.ReplaceAll(body, `": `, `":`); code != test.code || !strings.Contains(compact, test.body) {
			t.Errorf("%s answers %d %s, want %d with %s", test.path, code, body, test.code, test.body)
		}
	}
	request := httptest.NewRequest(http.MethodPost, "/explain/pods/shop/web", nil)
	answer := httptest.NewRecorder()
	if handler.ServeHTTP(answer, request); answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d, want 405", answer.Code)
	}
	if code, _ := ask(serving.NewHandler(serving.Endpoints{}), "/explain/pods/shop/web", nil); code != http.StatusNotFound {
		t.Errorf("without an explainer, the answer is %d, want 404", code)
	}
}

// byHeader takes the user from a header; without it the user is not known.
func byHeader() authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		name := r.Header.Get("X-User")
		return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
	})
}

func TestSecure(t *testing.T) {
	onlyAda := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetUser().GetName() == "ada" && !a.IsResourceRequest() && a.GetVerb() == "get" && a.GetPath() == "/api/v1/pods" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	content := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") })
	handler := serving.Secure(content, byHeader(), onlyAda)
	for _, test := range []struct {
		user, path string
		code       int
		body       string
	}{
		{"", "/api/v1/pods", 401, `"message":"Unauthorized"`},
		{"bob", "/metrics", 403, `forbidden: User \"bob\" cannot get path \"/metrics\"`},
		{"ada", "/api/v1/pods", 200, "content"},
		{"ada", "/explain/pods/shop/web", 403, `User \"ada\" cannot get path \"/explain/pods/shop/web\"`},
		{"ada", "/configz", 403, `User \"ada\" cannot get path \"/configz\"`},
	} {
		code, body := ask(handler, test.path, http.Header{"X-User": {test.user}})
		if compact := strings.ReplaceAll(body, `": "`, `":"`); code != test.code || !strings.Contains(compact, test.body) {
			t.Errorf("%q is answered at %s with %d %s, want %d with %s", test.user, test.path, code, body, test.code, test.body)
		}
	}
}

func ExampleNewHandler() {
	handler := serving.NewHandler(serving.Endpoints{
		Component: "my-scheduler",
		Ready: []healthz.HealthChecker{
			healthz.NamedCheck("cache", func(*http.Request) error { return errors.New("it is empty") }),
		},
	})
	fmt.Println(ask(handler, "/readyz/cache", nil))
	// Output: 500 internal server error: it is empty
}
