// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	resourcelisters "k8s.io/client-go/listers/resource/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

var (
	_ fwk.SharedDRAManager    = &Manager{}
	_ fwk.DeviceClassLister   = classLister{}
	_ fwk.ResourceSliceLister = sliceLister{}
)

// Options are the parts that a [Manager] is built from. Informers are required.
type Options struct {
	// Informers deliver claims, slices, classes and taint rules.
	Informers informers.SharedInformerFactory
	Switches  Switches
	// Touched is called after something changed that only one node sees: what the devices that it has are, or which of
	// them are allocated. It is called without locks, in the goroutine that made the change. It may be nil.
	Touched func(nodeName string)
	// Logger gets what is wrong with objects. The zero value logs nothing.
	Logger klog.Logger
}

// Manager has what is known of devices. Make one with [New].
type Manager struct {
	switches    Switches
	touched     func(nodeName string)
	expressions *cel.Cache
	classes     resourcelisters.DeviceClassLister
	resolver    *extendedresourcecache.ExtendedResourceCache
	slices      *tracker.Tracker
	// listening are the handlers on informers, and leave takes them away.
	listening struct {
		claims, classes, slices clientcache.ResourceEventHandlerRegistration
	}
	leave []func() error
	// classRevision grows when a class changes.
	classRevision atomic.Uint64

	mu sync.RWMutex
	// claims has every claim as the API server returned it last, to the informer or to a plugin that wrote it.
	claims map[string]*resourceapi.ResourceClaim
	// awaited has the keys of claims that were listed and that the informer does not have yet.
	awaited sets.Set[string]
	pending map[types.UID]*pendingAllocation
	// extended has the claims that were made for extended resources, by the UID of the pod.
	extended map[types.UID]map[string]*resourceapi.ResourceClaim
	pools    map[poolID]*pool
	// knownSlices are those in the pools, by name.
	knownSlices map[string]*resourceapi.ResourceSlice
	// private are the pools of one node alone; shared those that more may see, of which sharedVersion changes when
	// any of them does, or others become shared.
	private       map[string]map[poolID]*pool
	shared        map[poolID]*pool
	sharedVersion uint64
	// version is the last one that was given to anything.
	version uint64
	// views are those of nodes with pools of their own.
	views   map[string]*View
	reaches reaches
	kinds   map[string]*Kind

	handlers []*claimHandler
	// events wait to be delivered, in order; delivering tells that a goroutine does so.
	events     []func()
	delivering bool
}

// New returns a manager that listens to informers, which need not be running yet, until it is closed.
func New(ctx context.Context, options Options) (*Manager, error) {
	m := &Manager{
		switches:    options.Switches,
		touched:     options.Touched,
		expressions: options.Switches.NewExpressions(),
		claims:      map[string]*resourceapi.ResourceClaim{},
		awaited:     sets.New[string](),
		pending:     map[types.UID]*pendingAllocation{},
		extended:    map[types.UID]map[string]*resourceapi.ResourceClaim{},
		pools:       map[poolID]*pool{},
		knownSlices: map[string]*resourceapi.ResourceSlice{},
		private:     map[string]map[poolID]*pool{},
		shared:      map[poolID]*pool{},
		views:       map[string]*View{},
		kinds:       map[string]*Kind{},
	}
	if m.touched == nil {
		m.touched = func(string) {}
	}
	resources := options.Informers.Resource().V1()
	trackerOptions := tracker.Options{
		EnableDeviceTaintRules:   !options.Switches.NoTaints && !options.Switches.NoTaintRules,
		EnableConsumableCapacity: !options.Switches.NoConsumableCapacity,
		SliceInformer:            resources.ResourceSlices(),
	}
	if trackerOptions.EnableDeviceTaintRules {
		trackerOptions.TaintInformer = resources.DeviceTaintRules()
	}
	var err error
	if m.slices, err = tracker.StartTracker(klog.NewContext(ctx, options.Logger), trackerOptions); err != nil {
		return nil, fmt.Errorf("couldn't start resource slice tracker: %w", err)
	}
	if err := m.listen(options); err != nil {
		m.slices.Stop()
		return nil, err
	}
	return m, nil
}

// listen makes everything that follows objects. Slices are followed behind the tracker, which applies taint rules.
func (m *Manager) listen(options Options) error {
	var err error
	if m.listening.slices, err = m.slices.AddEventHandler(m.sliceHandler()); err != nil {
		return fmt.Errorf("listening to changes of resourceslices: %w", err)
	}
	resources := options.Informers.Resource().V1()
	m.classes = resources.DeviceClasses().Lister()
	m.resolver = extendedresourcecache.NewExtendedResourceCache(options.Logger, m.classHandler())
	classes := resources.DeviceClasses().Informer()
	if m.listening.classes, err = classes.AddEventHandler(m.resolver); err != nil {
		return fmt.Errorf("listening to changes of deviceclasses: %w", err)
	}
	m.leave = append(m.leave, func() error { return classes.RemoveEventHandler(m.listening.classes) })
	claims := resources.ResourceClaims().Informer()
	if m.listening.claims, err = claims.AddEventHandler(m.claimInformerHandler()); err != nil {
		return errors.Join(fmt.Errorf("listening to changes of resourceclaims: %w", err), m.Close())
	}
	m.leave = append(m.leave, func() error { return claims.RemoveEventHandler(m.listening.claims) })
	return nil
}

// WaitForSync returns once the manager knows every claim, slice and class that existed when the informers started, or with an
// error when the context ends before. Who allocates earlier may allocate devices that are in use.
func (m *Manager) WaitForSync(ctx context.Context) error {
	for _, handler := range []clientcache.ResourceEventHandlerRegistration{m.listening.claims, m.listening.classes, m.listening.slices} {
		synced := handler.HasSyncedChecker()
		select {
		case <-synced.Done():
		case <-ctx.Done():
			return fmt.Errorf("waiting until all devices and claims are known (%s): %w", synced.Name(), context.Cause(ctx))
		}
	}
	return nil
}

// Close makes the manager stop listening to informers.
func (m *Manager) Close() error {
	m.slices.Stop()
	var errs []error
	for _, leave := range m.leave {
		errs = append(errs, leave())
	}
	return errors.Join(errs...)
}

// Switches returns what the manager was built with.
func (m *Manager) Switches() Switches { return m.switches }

// Expressions returns the compiled CEL expressions that all profiles share.
func (m *Manager) Expressions() *cel.Cache { return m.expressions }

// ResourceClaims implements fwk.SharedDRAManager; the tracker is a [*Claims].
func (m *Manager) ResourceClaims() fwk.ResourceClaimTracker { return (*Claims)(m) }

// ResourceSlices implements fwk.SharedDRAManager.
func (m *Manager) ResourceSlices() fwk.ResourceSliceLister { return sliceLister{m.slices} }

// DeviceClasses implements fwk.SharedDRAManager.
func (m *Manager) DeviceClasses() fwk.DeviceClassLister { return classLister{m.classes} }

// DeviceClassResolver implements fwk.SharedDRAManager.
func (m *Manager) DeviceClassResolver() fwk.DeviceClassResolver { return m.resolver }

// ClassRevision grows whenever a class is added, changes, or is deleted.
func (m *Manager) ClassRevision() uint64 { return m.classRevision.Load() }

type classLister struct {
	lister resourcelisters.DeviceClassLister
}

// List implements fwk.DeviceClassLister.
func (l classLister) List() ([]*resourceapi.DeviceClass, error) {
	return l.lister.List(labels.Everything())
}

// Get implements fwk.DeviceClassLister.
func (l classLister) Get(name string) (*resourceapi.DeviceClass, error) { return l.lister.Get(name) }

type sliceLister struct{ tracker *tracker.Tracker }

// ListWithDeviceTaintRules implements fwk.ResourceSliceLister.
func (l sliceLister) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) {
	return l.tracker.ListPatchedResourceSlices()
}

// classHandler is called after the resolver has taken notice of a class.
func (m *Manager) classHandler() clientcache.ResourceEventHandler {
	return clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { m.classRevision.Add(1) },
		UpdateFunc: func(any, any) { m.classRevision.Add(1) },
		DeleteFunc: func(any) { m.classRevision.Add(1) },
	}
}

// AddHandler adds an event handler, as a shared informer would, to what the manager shows of a kind: claims as they will be, slices with taint rules
// applied, and classes after the names of extended resources are known. It returns nil for other kinds. Handlers of
// classes must be added before the informers start.
func (m *Manager) AddHandler(kind fwk.EventResource, handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	switch kind {
	case fwk.ResourceClaim:
		return m.addClaimHandler(handler), nil
	case fwk.ResourceSlice:
		return m.slices.AddEventHandler(handler)
	case fwk.DeviceClass:
		m.resolver.AddEventHandler(handler)
		return m.listening.classes, nil
	}
	return nil, nil
}

// ExtendedClaimOf returns the claim that was made for the extended resources of a pod; nil if there is none.
func (m *Manager) ExtendedClaimOf(pod *v1.Pod) *resourceapi.ResourceClaim {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found *resourceapi.ResourceClaim
	for _, claim := range m.extended[pod.UID] {
		if IsExtendedClaimOf(claim, pod) && (found == nil || claim.Name < found.Name) {
			found = claim
		}
	}
	return found
}
