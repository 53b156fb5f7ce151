// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/whatif/internal/trie"
)

// change is what an object was and what it is.
type change = trie.Change[key, object]

// replica is a scheduler's view of a cluster, with plugins of its own: a cache, a snapshot, informers and managers. It shows the
// objects of one fork at a time, and is brought to another by what differs between the two. One goroutine uses it at a time.
type replica struct {
	kinds     *kinds
	logger    klog.Logger
	shown     objects
	informers map[*kind]*informer.Informer
	cache     *cache.Cache
	snapshot  *cache.Snapshot
	names     nodeOrder
	nominator *queue.Nominator
	devices   *devices.Manager
	profiles  runtime.Profiles
	api       *api
	tasks     tasks
	cancel    context.CancelFunc
	changes   []change // working space
	// freedPorts are nodes on which a host port was freed that another pod may have too.
	freedPorts map[string]bool
	// version is the resource version that was given out last.
	version int64
	// broken is why the replica must not be used any more.
	broken error
}

// newReplica returns a replica that shows no objects.
func newReplica(e *engine) (_ *replica, err error) {
	ctx, cancel := context.WithCancel(e.ctx)
	r := &replica{
		kinds: e.kinds, logger: e.options.Logger, shown: e.empty, informers: map[*kind]*informer.Informer{},
		cache: cache.New(cache.Options{Clock: e.options.Clock, Logger: e.options.Logger, CurrentImages: true}), snapshot: &cache.Snapshot{},
		nominator: queue.NewNominator(nil), cancel: cancel, freedPorts: map[string]bool{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	r.api = newAPI(r)
	client, config, err := r.api.client()
	if err != nil {
		return nil, err
	}
	factory := r.newFactory(client)
	if r.devices, err = devices.New(ctx, devices.Options{Informers: factory, Touched: r.cache.TouchNode, Logger: r.logger}); err != nil {
		return nil, err
	}
	volumes := csi.New(factory)
	r.profiles, err = runtime.NewProfiles(ctx, e.options.Configuration, e.options.Registry, runtime.Options{
		Clients:   runtime.Clients{ClientSet: client, KubeConfig: config, InformerFactory: factory},
		Snapshot:  r.snapshot,
		Nominator: r.nominator,
		Managers:  runtime.Managers{DRA: r.devices, CSI: volumes, PodGroup: cache.NoPodGroups{}},
		Execution: runtime.Execution{Clock: e.options.Clock, Exhaustive: true, Go: r.tasks.add, Wait: doNotWait},
		Logger:    r.logger,
	})
	if err != nil {
		return nil, err
	}
	return r, r.follow(factory, volumes)
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
		factory.InformerFor(k.newObject(), func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return shared })
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
	return errors.Join(errs...)
}

// show brings the replica, and the snapshot that its plugins have, to the given objects.
func (r *replica) show(wanted objects) error {
	r.move(wanted)
	r.updateSnapshot()
	if len(r.freedPorts) > 0 {
		r.restorePorts()
		r.updateSnapshot()
	}
	r.names.update(r.snapshot)
	return r.broken
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

// fail notes that the replica can't be used any more.
func (r *replica) fail(err error) { r.broken = errors.Join(r.broken, err) }

// move brings everything but the snapshot to the given objects, by what differs from those that are shown.
func (r *replica) move(wanted objects) {
	r.changes = wanted.AppendDiff(r.changes[:0], r.shown.Map)
	r.shown = wanted
	if len(r.changes) > 1 {
		slices.SortFunc(r.changes, inOrder)
	}
	for i := range r.changes {
		if err := r.apply(&r.changes[i]); err != nil {
			r.fail(fmt.Errorf("%s: %w", r.changes[i].Key, err))
		}
	}
	clear(r.changes)
}

// inOrder puts what goes first, pods before what they use, and then what comes or changes, pods last.
func inOrder(a, b change) int {
	switch {
	case a.IsNow != b.IsNow:
		if b.IsNow {
			return -1
		}
		return 1
	case !a.IsNow:
		return compareKeys(b.Key, a.Key)
	}
	return compareKeys(a.Key, b.Key)
}

func (r *replica) apply(c *change) error {
	kind := c.Key.kind
	switch kind {
	case r.kinds.pods:
		return r.applyPod(c)
	case r.kinds.nodes:
		return r.applyNode(c)
	}
	followed := r.informers[kind]
	if followed == nil {
		return nil // a custom kind
	}
	if !c.IsNow {
		followed.Deliver(c.Key.storeKey(), nil)
		return nil
	}
	// What plugins keep of an object goes by its resource version, which must grow, whichever fork is shown next.
	delivered := c.After.DeepCopyObject().(object)
	delivered.SetResourceVersion(r.nextVersion())
	followed.Deliver(c.Key.storeKey(), delivered)
	return nil
}

func (r *replica) nextVersion() string {
	r.version++
	return strconv.FormatInt(r.version, 10)
}

func (r *replica) applyNode(c *change) error {
	var err error
	if c.IsNow {
		node := c.After.(*v1.Node)
		r.informers[c.Key.kind].Deliver(c.Key.storeKey(), node)
		err = r.cache.AddNode(node)
		r.names.add(node.Name)
	} else {
		r.informers[c.Key.kind].Deliver(c.Key.storeKey(), nil)
		err = r.cache.RemoveNode(c.Before.(*v1.Node))
		r.names.remove(c.Key.name)
	}
	return err
}

func (r *replica) applyPod(c *change) error {
	before, after := visiblePod(c.Before), visiblePod(c.After)
	if after == nil {
		r.informers[c.Key.kind].Deliver(c.Key.storeKey(), nil)
	} else {
		r.informers[c.Key.kind].Deliver(c.Key.storeKey(), after)
	}
	assignedBefore, assignedNow := before != nil && before.Spec.NodeName != "", after != nil && after.Spec.NodeName != ""
	if assignedBefore && len(framework.HostPorts(before)) > 0 {
		r.freedPorts[before.Spec.NodeName] = true
	}
	if assignedBefore && assignedNow && before.UID == after.UID && before.Spec.NodeName == after.Spec.NodeName {
		return r.cache.UpdatePod(before, after)
	}
	var errs []error
	if assignedBefore {
		errs = append(errs, r.cache.RemovePod(before))
	} else if before != nil {
		r.nominator.DeleteNominatedPodIfExists(before)
	}
	if assignedNow {
		if other, err := r.cache.Pod(after); err == nil {
			return fmt.Errorf("it has the UID of pod %s; remove the UID from a copy of a pod", klog.KObj(other))
		}
		errs = append(errs, r.cache.AddPod(after))
	} else if after != nil && after.Status.NominatedNodeName != "" && r.profiles[after.Spec.SchedulerName] != nil {
		info, _ := framework.NewPodInfo(after) // terms that don't parse are left out
		r.nominator.AddNominatedPod(r.logger, info, nil)
	}
	return errors.Join(errs...)
}

// visiblePod returns an object as a pod if it is one that informers show, otherwise nil.
func visiblePod(o object) *v1.Pod {
	pod, _ := o.(*v1.Pod)
	if pod == nil || !unfinished(pod) {
		return nil
	}
	return pod
}
