// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/internal/informer"
	"github.com/rouse-scheduler/rouse/internal/tasks"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// replica is a scheduler's view of a cluster, with plugins of its own: a cache, a snapshot, informers and managers. It shows the
// objects of one fork at a time, and is brought to another by what differs between the two. One goroutine asks it at a time, but
// plugins may read and write objects in goroutines of their own.
type replica struct {
	engine   *engine
	kinds    *kinds
	logger   klog.Logger
	cache    *cache.Cache
	snapshot *cache.Snapshot
	names    nodeOrder
	// feasibleIndexes is reused from question to question.
	feasibleIndexes []int
	nominator       *queue.Nominator
	devices         *devices.Manager
	profiles        runtime.Profiles
	api             *api
	tasks           tasks.Queue // what plugins started and what is not done yet
	cancel          context.CancelFunc
	// informers has those of kinds with a type.
	informers map[*kind]*informer.Informer

	mu sync.Mutex
	// custom has the informers of custom kinds; guarded by mu.
	custom map[*kind]*informer.Informer
	// shown are the objects that everything has been told of, or will be when changes have been applied; guarded by mu.
	shown objects
	// changes are those to be applied, by whoever has set applying; guarded by mu.
	changes  []change
	applying bool
	applied  sync.Cond
	// broken is why the replica must not be used any more; guarded by mu.
	broken error

	// What follows is for whoever applies changes.

	// comeOrGone are nodes that names does not know of yet.
	comeOrGone []nodeChange
	// freedPorts are nodes on which a host port was freed that another pod may have too.
	freedPorts map[string]bool
	// version is the resource version that was given out last.
	version int64
}

// newReplica returns a replica that shows no objects.
func newReplica(e *engine) (_ *replica, err error) {
	ctx, cancel := context.WithCancel(e.ctx)
	r := &replica{
		engine: e, kinds: e.kinds, logger: e.options.Logger, shown: e.empty,
		informers: map[*kind]*informer.Informer{}, custom: map[*kind]*informer.Informer{},
		cache: cache.New(cache.Options{Clock: e.options.Clock, Logger: e.options.Logger, CurrentImages: true}), snapshot: &cache.Snapshot{},
		nominator: queue.NewNominator(nil), cancel: cancel, freedPorts: map[string]bool{},
	}
	r.applied.L = &r.mu
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.api = newAPI(r)
	clients, err := r.api.clients()
	if err != nil {
		return nil, err
	}
	factory := r.newFactory(clients.ClientSet)
	clients.InformerFactory = factory
	if r.devices, err = devices.New(ctx, devices.Options{Informers: factory, Touched: r.cache.TouchNode, Logger: r.logger}); err != nil {
		return nil, err
	}
	volumes := csi.New(factory)
	r.profiles, err = runtime.NewProfiles(ctx, e.options.Configuration, e.options.Registry, runtime.Options{
		Clients:   clients,
		Snapshot:  r.snapshot,
		Nominator: r.nominator,
		Managers:  runtime.Managers{DRA: r.devices, CSI: volumes, PodGroup: cache.NoPodGroups{}},
		Execution: runtime.Execution{Clock: e.options.Clock, Exhaustive: true, Go: r.tasks.Add, Wait: doNotWait, FactoryTimeout: e.options.FactoryTimeout},
		Logger:    r.logger,
	})
	if err != nil {
		return nil, err
	}
	if err := r.follow(factory, volumes); err != nil {
		return nil, err
	}
	r.settle() // informers that plugins have started may not have asked for anything yet
	return r, nil
}

// newFactory returns an informer factory whose informers, of every kind that client-go has a type for, are those of the replica.
func (r *replica) newFactory(client clientset.Interface) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, k := range r.kinds.byType {
		var visible func(apiruntime.Object) bool
		if k == r.kinds.pods {
			visible = unfinished
		}
		shared := informer.New(visible)
		r.informers[k] = shared
		factory.InformerFor(reflect.New(k.typed).Interface().(object), func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return shared })
	}
	return factory
}

// unfinished reports whether a pod still takes something from a node, or wants to.
func unfinished(o apiruntime.Object) bool {
	pod, isPod := o.(*v1.Pod)
	return !isPod || pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}

// follow has the managers follow the kinds that they want to hear of.
func (r *replica) follow(factory informers.SharedInformerFactory, volumes *csi.Manager) error {
	for _, row := range framework.Resources() {
		if row.Informer.Resource == "pods" || row.Informer.Resource == "nodes" || row.Optional || !volumes.Follows(row.Name) {
			continue
		}
		handler := volumes.Handler(row.Name, clientcache.ResourceEventHandlerFuncs{})
		if registration, err := r.devices.AddHandler(row.Name, handler); registration != nil || err != nil {
			if err != nil {
				return fmt.Errorf("following %s: %w", row.Name, err)
			}
			continue
		}
		followed, err := factory.ForResource(row.Informer)
		if err == nil {
			_, err = followed.Informer().AddEventHandler(handler)
		}
		if err != nil {
			return fmt.Errorf("following %s: %w", row.Name, err)
		}
	}
	return nil
}

func (r *replica) close() error {
	var errs []error
	if r.profiles != nil {
		errs = append(errs, r.profiles.Close())
	}
	if r.devices != nil {
		errs = append(errs, r.devices.Close())
	}
	r.cancel()
	if r.api != nil {
		r.api.hub.Close()
	}
	return errors.Join(errs...)
}

func (r *replica) updateSnapshot() {
	if err := r.cache.UpdateSnapshot(r.snapshot); err != nil {
		r.fail(err)
	}
}

// restorePorts enters the host ports of pods again on nodes where some were freed. Of pods that have the same port, which only
// happens where they were put on a node regardless, the first that goes frees it, as in kube-scheduler; the answer to a question must
// not depend on which pods were there before.
func (r *replica) restorePorts() {
	for name := range r.freedPorts {
		node, err := r.snapshot.Get(name)
		if err != nil {
			continue
		}
		for _, info := range framework.View(node).Pods() {
			if pod := info.GetPod(); len(framework.HostPorts(pod)) > 0 {
				if err := r.cache.UpdatePod(pod, pod); err != nil {
					r.fail(err)
				}
			}
		}
	}
	clear(r.freedPorts)
}

// runTasks runs what plugins started, and what that starts.
func (r *replica) runTasks() {
	for r.tasks.RunOne() {
	}
}

// doNotWait is how plugins wait: not at all, because nothing can happen while they do.
func doNotWait(context.Context, time.Duration, <-chan struct{}) error {
	return fmt.Errorf("nothing changes in a fork while a plugin waits: %w", context.DeadlineExceeded)
}
