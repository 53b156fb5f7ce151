// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/informer"
	"github.com/rouse-scheduler/rouse/whatif/internal/trie"
)

// change is what an object was and what it is.
type change = trie.Change[key, object]

// nodeChange is a node that came or went.
type nodeChange struct {
	name  string
	isNow bool
}

// now returns the objects that the replica shows.
func (r *replica) now() objects {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shown
}

// fail notes that the replica can't be used any more.
func (r *replica) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = errors.Join(r.broken, err)
}

// failure returns why the replica must not be used any more, nil if it may be.
func (r *replica) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// informerOf returns the informer of a kind.
func (r *replica) informerOf(k *kind) *informer.Informer {
	if k.typed != nil {
		return r.informers[k]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.custom[k]
	if found == nil {
		found = informer.New(nil)
		r.custom[k] = found
	}
	return found
}

// show brings the replica, and the snapshot that its plugins have, to the given objects.
func (r *replica) show(wanted objects) error {
	r.begin(wanted)
	r.apply()
	r.updateSnapshot()
	if len(r.freedPorts) > 0 {
		r.restorePorts()
		r.updateSnapshot()
	}
	for _, node := range r.comeOrGone {
		if node.isNow {
			r.names.add(node.name)
		} else {
			r.names.remove(node.name)
		}
	}
	r.comeOrGone = r.comeOrGone[:0]
	r.names.update(r.snapshot)
	r.finish()
	if r.api.told.Load() {
		r.settle()
	}
	return r.failure()
}

// move brings everything but the snapshot to the given objects, by what differs from those that are shown.
func (r *replica) move(wanted objects) {
	r.begin(wanted)
	r.apply()
	r.finish()
	if r.api.told.Load() {
		r.settle()
	}
}

// edit changes what is shown, as plugins do in any goroutine. If changes are being applied, whoever applies them goes on with
// this one.
func (r *replica) edit(change func(objects) (objects, error)) error {
	r.mu.Lock()
	wanted, err := change(r.shown)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	r.enqueue(wanted)
	if r.applying {
		r.mu.Unlock()
		return nil
	}
	r.applying = true
	r.mu.Unlock()
	r.apply()
	r.finish()
	return nil
}

// begin waits until no changes are being applied, and has the caller apply what differs.
func (r *replica) begin(wanted objects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.applying {
		r.applied.Wait()
	}
	r.applying = true
	r.enqueue(wanted)
}

// enqueue notes what is to be applied. The caller holds mu.
func (r *replica) enqueue(wanted objects) {
	before := len(r.changes)
	r.changes = wanted.AppendDiff(r.changes, r.shown.Map)
	r.shown = wanted
	if added := r.changes[before:]; len(added) > 1 {
		slices.SortFunc(added, inOrder)
	}
}

// apply applies all changes, also those that are made meanwhile.
func (r *replica) apply() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i < len(r.changes); i++ {
		c := r.changes[i]
		r.mu.Unlock()
		err := r.applyOne(&c)
		r.mu.Lock()
		if err != nil {
			r.broken = errors.Join(r.broken, fmt.Errorf("%s: %w", c.Key, err))
		}
	}
	clear(r.changes)
	r.changes = r.changes[:0]
}

// finish ends what begin began.
func (r *replica) finish() {
	r.mu.Lock()
	for len(r.changes) > 0 {
		r.mu.Unlock()
		r.apply()
		r.mu.Lock()
	}
	r.applying = false
	r.mu.Unlock()
	r.applied.Broadcast()
}

// settleLimit is how long in real time plugins are waited for at most: other parts of the program may always be busy.
const settleLimit = time.Second / 2

// settle waits until plugins that watch by clients of their own have handled what they were told. Other questions wait
// meanwhile, because what they do could not be told apart from that. The caller is answering a question.
func (r *replica) settle() {
	r.engine.quiet.RUnlock()
	r.engine.quiet.Lock()
	r.api.told.Store(false)
	r.api.hub.WaitQuiet(settleLimit)
	r.engine.quiet.Unlock()
	r.engine.quiet.RLock()
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

// applyOne tells everything of a change: first the informers and the cache, then the watches.
func (r *replica) applyOne(c *change) error {
	version := r.version + 1
	delivered := c.After
	var err error
	switch kind := c.Key.kind; kind {
	case r.kinds.pods:
		err = r.applyPod(c)
	case r.kinds.nodes:
		err = r.applyNode(c)
	default:
		followed := r.informerOf(kind)
		if !c.IsNow {
			followed.Deliver(c.Key.storeKey(), nil)
			break
		}
		// What plugins keep of an object goes by its resource version, which must grow, whichever fork is shown next.
		delivered = c.After.DeepCopyObject().(object)
		delivered.SetResourceVersion(strconv.FormatInt(version, 10))
		followed.Deliver(c.Key.storeKey(), delivered)
	}
	r.version = version
	r.api.publish(c, delivered, version)
	return err
}

func (r *replica) applyNode(c *change) error {
	if !c.IsNow {
		r.informers[c.Key.kind].Deliver(c.Key.storeKey(), nil)
		r.comeOrGone = append(r.comeOrGone, nodeChange{name: c.Key.name})
		return r.cache.RemoveNode(c.Before.(*v1.Node))
	}
	node := c.After.(*v1.Node)
	r.informers[c.Key.kind].Deliver(c.Key.storeKey(), node)
	if !c.IsBefore {
		r.comeOrGone = append(r.comeOrGone, nodeChange{name: node.Name, isNow: true})
	}
	return r.cache.AddNode(node)
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
