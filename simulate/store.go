// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
	"github.com/rouse-scheduler/rouse/internal/informer"
)

// store holds the objects of the cluster, as the API server would. What it has taken is never changed again, only
// replaced, so that informers and listers may share it. Changes wait in a list until they are delivered to the
// informers, as they would on their way through a watch.
type store struct {
	// mu is held by the callers of all methods.
	mu          sync.Mutex
	clock       *virtualClock
	kinds       *kindTable
	collections map[schema.GroupVersionResource]*collection
	version     int64
	created     int
	pending     []change
	// generated counts the names made of each prefix.
	generated map[string]int
	// custom has what is known of custom kinds.
	custom map[schema.GroupKind]customKind
	// implied are namespaces that were not created but have objects.
	implied map[string]bool
	// binding is set while claims are being bound, which is a change too.
	binding  bool
	accounts budgetAccounts
	// used has the UID of every object that ever was.
	used map[types.UID]bool
}

// collection has the objects of one kind, by namespace/name, and the informers that show them.
type collection struct {
	*kind
	objects  map[string]object
	informer *informer.Informer
	// untyped shows the objects of a kind that has a Go type without it, as dynamic informers do; nil until asked
	// for it.
	untyped *informer.Informer
	// requested is set once a client asks for the kind.
	requested bool
	// known has the key of every object that ever was.
	known map[string]bool
}

// used reports whether the kind was asked for.
func (c *collection) used() bool {
	return c.informer.Used() || c.untyped != nil && c.untyped.Used()
}

// change is one object that was created, changed or, if it has no current state, deleted.
type change struct {
	collection *collection
	key        string
	previous   object
	current    object
	// version is that of the change.
	version int64
	// minor tells that only the status of a pod was written, which is what a scheduler does after a failed attempt.
	minor bool
}

func newStore(clock *virtualClock) *store {
	s := &store{
		clock:       clock,
		kinds:       newKindTable(),
		collections: make(map[schema.GroupVersionResource]*collection),
		generated:   make(map[string]int),
		custom:      make(map[schema.GroupKind]customKind),
		implied:     make(map[string]bool),
		used:        make(map[types.UID]bool),
	}
	for _, k := range s.kinds.sorted() {
		s.addKind(k)
	}
	return s
}

// addKind makes room for objects of a kind.
func (s *store) addKind(k *kind) *collection {
	var visible func(apiruntime.Object) bool
	if k.GroupVersionKind == v1.SchemeGroupVersion.WithKind("Pod") {
		visible = unfinishedPod
	}
	c := &collection{kind: k, objects: make(map[string]object), informer: informer.New(visible), known: make(map[string]bool)}
	s.collections[k.resource] = c
	return c
}

// of returns the collection of a kind that client-go has a type for.
func (s *store) of(gvk schema.GroupVersionKind) *collection {
	return s.collections[s.kinds.find(gvk).resource]
}

func (s *store) pods() *collection  { return s.of(v1.SchemeGroupVersion.WithKind("Pod")) }
func (s *store) nodes() *collection { return s.of(v1.SchemeGroupVersion.WithKind("Node")) }

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// ownCopy returns a copy of a stored or read object, to change at its top level. That of a pod or a node, of which there
// are many, shares everything below with the original.
func ownCopy(o object) object {
	switch o := o.(type) {
	case *v1.Pod:
		copied := *o
		return &copied
	case *v1.Node:
		copied := *o
		return &copied
	}
	return o.DeepCopyObject().(object)
}

// sorted returns the objects of a namespace, or of all for the empty one, by key.
func (c *collection) sorted(namespace string) []object {
	found := make([]object, 0, len(c.objects))
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		if o := c.objects[key]; namespace == "" || o.GetNamespace() == namespace {
			found = append(found, o)
		}
	}
	return found
}

func (c *collection) get(namespace, name string) (object, error) {
	if found := c.objects[keyOf(namespace, name)]; found != nil {
		return found, nil
	}
	return nil, apierrors.NewNotFound(c.resource.GroupResource(), name)
}

// create takes an object, which it may change, and returns it as stored.
func (s *store) create(c *collection, created object) (object, error) {
	if created.GetName() == "" {
		if created.GetGenerateName() == "" {
			return nil, apierrors.NewBadRequest("the object has no name")
		}
		created.SetName(s.generateName(c, created))
	}
	key := keyOf(created.GetNamespace(), created.GetName())
	if c.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(c.resource.GroupResource(), created.GetName())
	}
	s.created++
	// An API server gives every object a UID of its own. Here those of the input are kept, because others may refer to
	// them, but an object that comes again is another one.
	if uid := created.GetUID(); uid == "" || s.used[uid] {
		created.SetUID(uniqueID(c.resource.Resource, key, s.created))
	}
	s.used[created.GetUID()] = true
	if timestamp := created.GetCreationTimestamp(); timestamp.IsZero() {
		created.SetCreationTimestamp(metav1.NewTime(s.clock.Now()).Rfc3339Copy())
	}
	created.SetManagedFields(nil)
	c.known[key] = true
	s.put(c, key, nil, created)
	return created, nil
}

// generateName makes a name out of the prefix that the object asks for: prefix1, prefix2 and so on.
func (s *store) generateName(c *collection, o object) string {
	prefix := o.GetGenerateName()
	counter := c.resource.Resource + "/" + keyOf(o.GetNamespace(), prefix)
	for {
		s.generated[counter]++
		name := prefix + strconv.Itoa(s.generated[counter])
		if c.objects[keyOf(o.GetNamespace(), name)] == nil {
			return name
		}
	}
}

// uniqueID returns a UID that is the same in every run.
func uniqueID(resource, key string, counter int) types.UID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", resource, key, counter))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// update replaces an object and returns it as stored. An update that changes nothing is none. scope says what the
// request may have changed.
func (s *store) update(c *collection, updated object, scope part) (object, error) {
	key := keyOf(updated.GetNamespace(), updated.GetName())
	current, err := c.get(updated.GetNamespace(), updated.GetName())
	if err != nil {
		return nil, err
	}
	if updated.GetUID() == "" {
		updated.SetUID(current.GetUID())
	}
	if updated.GetUID() != current.GetUID() {
		return nil, s.conflict(c, key, "the UID is %s, not %s", current.GetUID(), updated.GetUID())
	}
	if version := updated.GetResourceVersion(); version != "" && version != current.GetResourceVersion() {
		return nil, s.conflict(c, key, "the object has been modified; apply the change to the latest version and try again")
	}
	updated.SetResourceVersion(current.GetResourceVersion())
	updated.SetCreationTimestamp(current.GetCreationTimestamp())
	updated.SetManagedFields(nil)
	if equality.Semantic.DeepEqual(current, updated) {
		return current, nil
	}
	if updated.GetDeletionTimestamp() != nil && len(updated.GetFinalizers()) == 0 {
		s.put(c, key, current, nil)
		return updated, nil
	}
	_, isPod := updated.(*v1.Pod)
	s.record(c, key, change{previous: current, current: updated, minor: isPod && scope == statusOnly})
	return updated, nil
}

// delete removes an object at once, or marks it if it has finalizers: it goes when the last of them is taken away.
func (s *store) delete(c *collection, namespace, name string) error {
	current, err := c.get(namespace, name)
	if err != nil {
		return err
	}
	if len(current.GetFinalizers()) == 0 {
		s.put(c, keyOf(namespace, name), current, nil)
		return nil
	}
	if current.GetDeletionTimestamp() == nil {
		marked := current.DeepCopyObject().(object)
		now := metav1.NewTime(s.clock.Now()).Rfc3339Copy()
		marked.SetDeletionTimestamp(&now)
		s.put(c, keyOf(namespace, name), current, marked)
	}
	return nil
}

// put stores the current state of an object, or forgets the object if there is none.
func (s *store) put(c *collection, key string, previous, current object) {
	s.record(c, key, change{previous: previous, current: current})
}

// record makes a change and notes it for the informers.
func (s *store) record(c *collection, key string, made change) {
	s.version++
	if c.Kind == apihttp.DefinitionKind && made.current != nil {
		s.learnKinds([]object{made.current})
	}
	if made.current == nil {
		delete(c.objects, key)
	} else {
		made.current.SetResourceVersion(strconv.FormatInt(s.version, 10))
		c.objects[key] = made.current
	}
	made.collection, made.key, made.version = c, key, s.version
	s.pending = append(s.pending, made)
	if !s.binding && made.current != nil && s.aboutVolumes(c) {
		s.binding = true
		s.bindClaims()
		s.binding = false
	}
	s.keepBudgets(c, made)
	s.keepResourceClaims(c, made)
}

// next takes the oldest change that no informer has seen yet.
func (s *store) next() (change, bool) {
	if len(s.pending) == 0 {
		return change{}, false
	}
	first := s.pending[0]
	s.pending[0] = change{}
	s.pending = s.pending[1:]
	return first, true
}

func (s *store) conflict(c *collection, key, format string, args ...any) error {
	return apierrors.NewConflict(c.resource.GroupResource(), key, fmt.Errorf(format, args...))
}
