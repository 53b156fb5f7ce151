// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
	"github.com/rouse-scheduler/rouse/runtime"
)

var _ apihttp.Backend = &apiServer{}

// apiServer answers the requests of clients from the store.
type apiServer struct {
	store *store
	// written is called after a request that wrote a volume or a claim of any sort; may be nil.
	written func()
}

// newClient returns a server and the clientset that talks to it.
func newClient(s *store, hub *apihttp.Hub) (*apiServer, clientset.Interface, error) {
	server := &apiServer{store: s}
	config := apihttp.NewTransport(server, hub).Config()
	config.ContentType = apiruntime.ContentTypeProtobuf
	config.AcceptContentTypes = strings.Join([]string{apiruntime.ContentTypeProtobuf, apiruntime.ContentTypeJSON}, ",")
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a client of the simulated API server: %w", err)
	}
	return server, client, nil
}

// newClientConfig returns what plugins make clients of their own from.
func newClientConfig(s *store, hub *apihttp.Hub) *restclient.Config {
	return apihttp.NewTransport(&apiServer{store: s}, hub).Config()
}

// NewEmptyClients returns the clients of a cluster that has no objects, for plugins that are built only to be looked at. The scheme
// has types of custom kinds that are served as well; it may be nil.
func NewEmptyClients(types *apiruntime.Scheme) (runtime.Clients, error) {
	s, hub := newStore(newVirtualClock(startTime())), apihttp.NewHub()
	if types != nil {
		s.learnScheme(types)
	}
	_, client, err := newClient(s, hub)
	if err != nil {
		return runtime.Clients{}, err
	}
	return runtime.Clients{ClientSet: client, KubeConfig: newClientConfig(s, hub), InformerFactory: newInformerFactory(client, s)}, nil
}

// Resources implements apihttp.Backend.
func (a *apiServer) Resources() []*apihttp.Resource {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	var served []*apihttp.Resource
	for _, c := range a.store.collections {
		if c.Kind != "" {
			served = append(served, c.served())
		}
	}
	slices.SortFunc(served, func(a, b *apihttp.Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	return served
}

// Resource implements apihttp.Backend. A custom kind that is neither defined nor in the scheme of the plugins may still come, with an
// object. Where nothing says whether a custom kind is namespaced, a request does that names a namespace.
func (a *apiServer) Resource(gvr schema.GroupVersionResource, namespace string) *apihttp.Resource {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	c := a.store.find(gvr)
	if c == nil {
		if scheme.Scheme.IsGroupRegistered(gvr.Group) {
			return nil
		}
		c = a.store.addUnknown(gvr)
	}
	c.requested = true
	if namespace != "" && !c.defined && c.custom() {
		c.namespaced = true
	}
	return c.served()
}

// served returns how clients see the kind.
func (c *collection) served() *apihttp.Resource {
	return &apihttp.Resource{GroupVersionResource: c.resource, Kind: c.Kind, Namespaced: c.namespaced, Typed: !c.custom()}
}

// of returns the objects that a request is about.
func (a *apiServer) of(target apihttp.Target) *collection {
	return a.store.collections[target.Resource.GroupVersionResource]
}

// request makes a request.
func (a *apiServer) request(target apihttp.Target, answer func(*collection) (object, error)) (apihttp.Object, error) {
	a.store.mu.Lock()
	result, err := answer(a.of(target))
	a.store.mu.Unlock()
	switch target.Resource.Resource {
	case "persistentvolumes", "persistentvolumeclaims", "resourceclaims":
		if a.written != nil {
			a.written()
		}
	}
	if err != nil || result == nil {
		return nil, err
	}
	return result, nil
}

// Get implements apihttp.Backend.
func (a *apiServer) Get(target apihttp.Target) (apihttp.Object, error) {
	if target.Subresource != "" && target.Subresource != "status" {
		return nil, unsupported(target, "get")
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	return a.of(target).get(target.Namespace, target.Name)
}

// List implements apihttp.Backend.
func (a *apiServer) List(target apihttp.Target) ([]apihttp.Object, int64) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	sorted := a.of(target).sorted(target.Namespace)
	objects := make([]apihttp.Object, len(sorted))
	for i, o := range sorted {
		objects[i] = o
	}
	return objects, a.store.version
}

// Create implements apihttp.Backend.
func (a *apiServer) Create(target apihttp.Target, given apiruntime.Object) (apihttp.Object, error) {
	return a.request(target, func(c *collection) (object, error) {
		switch created := given.(type) {
		case *v1.Binding:
			if created.Name == "" {
				created.Name = target.Name
			}
			return nil, a.store.bind(target.Namespace, created)
		case *policyv1.Eviction:
			return nil, a.delete(c, target.Namespace, target.Name, nil)
		case object:
			if target.Subresource != "" {
				break
			}
			if created.GetNamespace() == "" {
				created.SetNamespace(target.Namespace)
			}
			if created.GetNamespace() != target.Namespace {
				return nil, apierrors.NewBadRequest("the namespace of the object is not the one of the request")
			}
			return a.store.admit(c, created)
		}
		return nil, unsupported(target, "create")
	})
}

// Update implements apihttp.Backend.
func (a *apiServer) Update(target apihttp.Target, changed apihttp.Object) (apihttp.Object, error) {
	return a.request(target, func(c *collection) (object, error) {
		scope, err := scopeOf(target, "update")
		if err != nil {
			return nil, err
		}
		current, err := c.get(target.Namespace, target.Name)
		if err != nil {
			return nil, err
		}
		c.keepOtherPart(current, changed, scope)
		return a.store.update(c, changed, scope)
	})
}

// Patch implements apihttp.Backend. Applied by the server, it merges without regard to who owns which field.
func (a *apiServer) Patch(target apihttp.Target, patchType types.PatchType, data []byte) (apihttp.Object, error) {
	return a.request(target, func(c *collection) (object, error) {
		scope, err := scopeOf(target, "patch")
		if err != nil {
			return nil, err
		}
		if patchType == types.ApplyYAMLPatchType {
			return a.store.apply(c, target.Namespace, target.Name, data, scope)
		}
		return a.store.patch(c, target.Namespace, target.Name, patchType, data, scope)
	})
}

// Delete implements apihttp.Backend.
func (a *apiServer) Delete(target apihttp.Target, preconditions *metav1.Preconditions) error {
	_, err := a.request(target, func(c *collection) (object, error) {
		if target.Subresource != "" {
			return nil, unsupported(target, "delete")
		}
		return nil, a.delete(c, target.Namespace, target.Name, preconditions)
	})
	return err
}

func unsupported(target apihttp.Target, verb string) error {
	if target.Subresource != "" {
		verb += " of " + target.Subresource
	}
	return apierrors.NewMethodNotSupported(target.Resource.GroupResource(), verb)
}

func scopeOf(target apihttp.Target, verb string) (part, error) {
	switch target.Subresource {
	case "":
		return allButStatus, nil
	case "status":
		return statusOnly, nil
	case "resize", "ephemeralcontainers":
		return allButStatus, nil
	}
	return 0, unsupported(target, verb)
}

func (a *apiServer) delete(c *collection, namespace, name string, preconditions *metav1.Preconditions) error {
	current, err := c.get(namespace, name)
	if err != nil {
		return err
	}
	if preconditions != nil {
		if uid := preconditions.UID; uid != nil && *uid != current.GetUID() {
			return a.store.conflict(c, name, "the UID is %s, not %s", current.GetUID(), *uid)
		}
		if version := preconditions.ResourceVersion; version != nil && *version != current.GetResourceVersion() {
			return a.store.conflict(c, name, "the resource version is %s, not %s", current.GetResourceVersion(), *version)
		}
	}
	return a.store.delete(c, namespace, name)
}
