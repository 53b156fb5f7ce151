// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"
	"strings"
	"sync/atomic"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
	"github.com/rouse-scheduler/rouse/runtime"
)

var _ apihttp.Backend = &api{}

// api is the API that the plugins of a replica find: the objects that it shows, and watches that say what changes when it shows
// others. What plugins write the replica shows at once, and it is part of the fork only if the question keeps it.
type api struct {
	replica *replica
	hub     *apihttp.Hub
	// told is set when a watch has been told of a change since they were waited for.
	told atomic.Bool
	// missed is one more than how many custom kinds were known when a plugin asked for one that was not; 0 if none did.
	missed atomic.Int64
	// version is the resource version up to which everything has been delivered.
	version atomic.Int64
}

func newAPI(r *replica) *api { return &api{replica: r, hub: apihttp.NewHub()} }

// clients returns a client, and a configuration for others, whose requests do not leave the process.
func (a *api) clients() (runtime.Clients, error) {
	transport := apihttp.NewTransport(a, a.hub)
	config := transport.Config()
	config.ContentType = apiruntime.ContentTypeProtobuf
	config.AcceptContentTypes = strings.Join([]string{apiruntime.ContentTypeProtobuf, apiruntime.ContentTypeJSON}, ",")
	client, err := clientset.NewForConfig(config)
	return runtime.Clients{ClientSet: client, KubeConfig: transport.Config()}, err
}

// Resources implements apihttp.Backend.
func (a *api) Resources() []*apihttp.Resource {
	return a.replica.kinds.served()
}

// Resource implements apihttp.Backend.
func (a *api) Resource(gvr schema.GroupVersionResource, namespace string) *apihttp.Resource {
	known := a.replica.kinds.generation.Load()
	found := a.replica.kinds.find(gvr, namespace != "")
	if found == nil {
		a.missed.Store(known + 1)
	}
	return found
}

// outdated reports whether a kind is known by now that a plugin asked for in vain.
func (a *api) outdated() bool {
	missed := a.missed.Load()
	return missed != 0 && missed <= a.replica.kinds.generation.Load()
}

// keyOf returns the object that a request is about.
func (a *api) keyOf(target apihttp.Target) key {
	return key{kind: a.replica.kinds.ofResource(target.Resource.GroupVersionResource), namespace: target.Namespace, name: target.Name}
}

// Get implements apihttp.Backend. The object is as informers show it.
func (a *api) Get(target apihttp.Target) (apihttp.Object, error) {
	k := a.keyOf(target)
	if found, ok, _ := a.replica.informerOf(k.kind).Known().GetByKey(k.storeKey()); ok {
		return found.(object), nil
	}
	if found, ok := a.replica.now().Get(k); ok { // a pod that has finished
		return found, nil
	}
	return nil, apierrors.NewNotFound(target.Resource.GroupResource(), target.Name)
}

// List implements apihttp.Backend.
func (a *api) List(target apihttp.Target) ([]apihttp.Object, int64) {
	version, kind := a.version.Load(), a.keyOf(target).kind
	var listed []apihttp.Object
	if kind == a.replica.kinds.pods { // informers do not show those that have finished
		for k, o := range a.replica.now().All() {
			if k.kind == kind {
				listed = append(listed, o)
			}
		}
		return listed, version
	}
	for _, known := range a.replica.informerOf(kind).Known().List() {
		listed = append(listed, known.(object))
	}
	return listed, version
}

// Create implements apihttp.Backend.
func (a *api) Create(target apihttp.Target, given apiruntime.Object) (apihttp.Object, error) {
	if _, evicted := given.(*policyv1.Eviction); evicted {
		return nil, a.Delete(target, nil)
	}
	created, isObject := given.(object)
	if !isObject || target.Subresource != "" {
		return nil, apierrors.NewMethodNotSupported(target.Resource.GroupResource(), "create "+target.Subresource)
	}
	if created.GetName() == "" {
		created.SetName(fmt.Sprintf("%s%d", created.GetGenerateName(), a.version.Load()))
	}
	target.Name = created.GetName()
	if err := a.replica.create(a.keyOf(target), created); err != nil {
		return nil, err
	}
	return a.Get(target)
}

// create has the replica show a new object.
func (r *replica) create(k key, created object) error {
	return r.edit(func(shown objects) (objects, error) {
		if _, found := shown.Get(k); found {
			return shown, apierrors.NewAlreadyExists(k.kind.resource.GroupResource(), k.name)
		}
		return shown.with(k, r.kinds.complete(shown, k, created, nil)), nil
	})
}

// Update implements apihttp.Backend. A request for the status replaces the whole object, too.
func (a *api) Update(target apihttp.Target, updated apihttp.Object) (apihttp.Object, error) {
	return a.update(target, func(object) (object, error) { return updated, nil })
}

// Patch implements apihttp.Backend.
func (a *api) Patch(target apihttp.Target, patchType types.PatchType, data []byte) (apihttp.Object, error) {
	return a.update(target, func(current object) (object, error) {
		return apihttp.ApplyPatch(target.Resource, current, patchType, data)
	})
}

// update replaces an object, or its status, by what change makes of it.
func (a *api) update(target apihttp.Target, change func(current object) (object, error)) (apihttp.Object, error) {
	k := a.keyOf(target)
	err := a.replica.edit(func(shown objects) (objects, error) {
		current, found := shown.Get(k)
		if !found {
			return shown, apierrors.NewNotFound(target.Resource.GroupResource(), k.name)
		}
		updated, err := change(current)
		if err != nil {
			return shown, err
		}
		updated.SetUID(current.GetUID())
		return shown.with(k, updated), nil
	})
	if err != nil {
		return nil, err
	}
	stored, err := a.Get(target)
	if err == nil {
		controllers{a.replica}.act(stored)
	}
	return stored, err
}

// Delete implements apihttp.Backend. A pod is gone at once, whatever its grace period.
func (a *api) Delete(target apihttp.Target, preconditions *metav1.Preconditions) error {
	k := a.keyOf(target)
	return a.replica.edit(func(shown objects) (objects, error) {
		current, found := shown.Get(k)
		if !found {
			return shown, apierrors.NewNotFound(target.Resource.GroupResource(), k.name)
		}
		if preconditions != nil && preconditions.UID != nil && *preconditions.UID != current.GetUID() {
			return shown, apierrors.NewConflict(target.Resource.GroupResource(), k.name,
				fmt.Errorf("the UID is %s, not %s", current.GetUID(), *preconditions.UID))
		}
		return shown.without(k), nil
	})
}

// publish tells watches of a change, of which all but finished pods is what informers have.
func (a *api) publish(c *change, delivered object, version int64) {
	made := apihttp.Change{Resource: a.replica.kinds.resourceOf(c.Key.kind), Version: version}
	if c.IsBefore {
		made.Old = c.Before
	}
	if c.IsNow {
		made.New = delivered
	}
	if a.hub.Publish(made) {
		a.told.Store(true)
	}
	a.version.Store(version)
}
