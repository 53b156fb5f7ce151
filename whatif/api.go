// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// api is the API that the plugins of a replica find: the objects that it shows, without watches. What plugins write the replica
// shows at once, and it is part of the fork only if the question keeps it.
type api struct {
	replica *replica
	mu      sync.Mutex
}

func newAPI(r *replica) *api { return &api{replica: r} }

// client returns a client, and its configuration, whose requests do not leave the process.
func (a *api) client() (clientset.Interface, *restclient.Config, error) {
	config := &restclient.Config{Host: "http://fork.invalid", Transport: a, QPS: -1}
	config.ContentType = apiruntime.ContentTypeJSON
	client, err := clientset.NewForConfig(config)
	return client, config, err
}

// request is a request for the objects of a kind.
type request struct {
	kind        *kind
	key         key // without a name if it is about all
	subresource string
	body        []byte
}

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	result, err := a.serve(r)
	code := http.StatusOK
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		returned := status.Status()
		returned.Kind, returned.APIVersion = "Status", "v1"
		result, code = &returned, int(returned.Code)
	}
	body, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encoding the response to %s %s: %w", r.Method, r.URL.Path, err)
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {apiruntime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}, nil
}

func (a *api) serve(r *http.Request) (any, error) {
	parsed, err := a.parse(r)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Method == http.MethodGet && parsed.key.name == "":
		return a.list(parsed, r)
	case r.Method == http.MethodGet:
		return a.get(parsed.key)
	case r.Method == http.MethodPost && parsed.subresource == "":
		return a.create(parsed)
	case r.Method == http.MethodPut:
		return a.update(parsed, func(object) ([]byte, error) { return parsed.body, nil })
	case r.Method == http.MethodPatch:
		return a.update(parsed, func(current object) ([]byte, error) {
			return patched(parsed, types.PatchType(r.Header.Get("Content-Type")), current)
		})
	case r.Method == http.MethodDelete && parsed.key.name != "":
		return a.delete(parsed)
	}
	return nil, apierrors.NewMethodNotSupported(parsed.kind.resource.GroupResource(), r.Method+" "+parsed.subresource)
}

// parse takes a path such as /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE apart.
func (a *api) parse(r *http.Request) (*request, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: r.URL.Path}, "")
	var resource schema.GroupVersionResource
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		resource.Group, resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, notFound
	}
	parsed := &request{}
	if len(parts) >= 3 && parts[0] == "namespaces" && parts[2] != "status" {
		parsed.key.namespace, parts = parts[1], parts[2:]
	}
	resource.Resource = parts[0]
	parsed.kind = a.replica.kinds.byResource[resource]
	if parsed.kind == nil {
		return nil, notFound
	}
	parsed.key.kind = parsed.kind
	if len(parts) > 1 {
		parsed.key.name = parts[1]
	}
	if len(parts) > 2 {
		parsed.subresource = parts[2]
	}
	if r.Body == nil {
		return parsed, nil
	}
	defer r.Body.Close()
	var err error
	parsed.body, err = io.ReadAll(r.Body)
	return parsed, err
}

// current returns an object as informers show it.
func (a *api) current(k key) (object, error) {
	if _, found := a.replica.shown.Get(k); found {
		if known, ok, _ := a.replica.informers[k.kind].Known().GetByKey(k.storeKey()); ok {
			return known.(object), nil
		}
	}
	return nil, apierrors.NewNotFound(k.kind.resource.GroupResource(), k.name)
}

func (a *api) get(k key) (any, error) { return a.current(k) }

func (a *api) list(parsed *request, r *http.Request) (any, error) {
	if r.URL.Query().Get("watch") != "" {
		return nil, apierrors.NewMethodNotSupported(parsed.kind.resource.GroupResource(), "watch")
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	items := []any{}
	for _, known := range a.replica.informers[parsed.kind].Known().List() {
		o := known.(object)
		if (parsed.key.namespace == "" || parsed.key.namespace == o.GetNamespace()) && selector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, o)
		}
	}
	return map[string]any{
		"kind": parsed.kind.Kind + "List", "apiVersion": parsed.kind.GroupVersion().String(),
		"metadata": map[string]any{"resourceVersion": fmt.Sprint(a.replica.version)}, "items": items,
	}, nil
}

// decode reads an object of a request.
func (r *request) decode(data []byte) (object, error) {
	o := r.kind.newObject()
	if err := utiljson.Unmarshal(data, o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return o, nil
}

func (a *api) create(parsed *request) (any, error) {
	o, err := parsed.decode(parsed.body)
	if err != nil {
		return nil, err
	}
	if o.GetName() == "" {
		o.SetName(fmt.Sprintf("%s%d", o.GetGenerateName(), a.replica.version))
	}
	k := key{kind: parsed.kind, namespace: parsed.key.namespace, name: o.GetName()}
	if err := a.replica.create(k, o); err != nil {
		return nil, err
	}
	return a.current(k)
}

// create has the replica show a new object.
func (r *replica) create(k key, o object) error {
	if _, found := r.shown.Get(k); found {
		return apierrors.NewAlreadyExists(k.kind.resource.GroupResource(), k.name)
	}
	r.move(r.shown.with(k, r.kinds.complete(r.shown, k, o, nil)))
	return nil
}

// update replaces an object, or its status, by what change makes of it.
func (a *api) update(parsed *request, change func(current object) ([]byte, error)) (any, error) {
	current, err := a.current(parsed.key)
	if err != nil {
		return nil, err
	}
	data, err := change(current)
	if err != nil {
		return nil, err
	}
	updated, err := parsed.decode(data)
	if err != nil {
		return nil, err
	}
	updated.SetUID(current.GetUID())
	a.replica.move(a.replica.shown.with(parsed.key, updated))
	stored, err := a.current(parsed.key)
	if err == nil {
		controllers{a.replica}.act(stored)
	}
	return stored, err
}

// delete removes an object, and a pod at once, whatever its grace period.
func (a *api) delete(parsed *request) (any, error) {
	current, err := a.current(parsed.key)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if len(parsed.body) > 0 {
		if err := utiljson.Unmarshal(parsed.body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if wanted := options.Preconditions; wanted != nil && wanted.UID != nil && *wanted.UID != current.GetUID() {
		return nil, apierrors.NewConflict(parsed.kind.resource.GroupResource(), parsed.key.name,
			fmt.Errorf("the UID is %s, not %s", current.GetUID(), *wanted.UID))
	}
	a.replica.move(a.replica.shown.without(parsed.key))
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}, nil
}

// patched returns an object with the patch of a request applied.
func patched(parsed *request, patchType types.PatchType, current object) ([]byte, error) {
	original, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	var result []byte
	switch patchType {
	case types.StrategicMergePatchType:
		result, err = strategicpatch.StrategicMergePatch(original, parsed.body, parsed.kind.newObject())
	case types.MergePatchType:
		result, err = jsonpatch.MergePatch(original, parsed.body)
	case types.JSONPatchType:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(parsed.body); err == nil {
			result, err = patch.Apply(original)
		}
	default:
		err = fmt.Errorf("patches of type %s are not supported", patchType)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patching: %v", err))
	}
	return result, nil
}
