// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/whatif"
)

// TestNamedEventsWake makes the suggested changes in a simulated cluster, in which the scheduler then has to bind the pod, woken
// by one of the events that the explanation names; and changes that cause none of these events, after which it must not be tried.
func TestNamedEventsWake(t *testing.T) {
	perPlugin := podsOfEach(t)
	for _, plugin := range slices.Sorted(maps.Keys(causes())) {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			checked, slept := 0, 0
			for seed := uint64(1); checked < perPlugin && seed < uint64(50*perPlugin) && !t.Failed(); seed++ {
				w := newWaiting(t, seed, causes()[plugin])
				if w == nil {
					continue
				}
				slept += w.checkOthersDoNotWake()
				if w.checkSuggestionWakes() {
					checked++
				}
			}
			t.Logf("%d pods were woken by suggestions, and %d changes woke none", checked, slept)
			if checked == 0 || slept == 0 {
				t.Errorf("%d pods were woken by suggestions, and %d changes woke none; want some of both", checked, slept)
			}
		})
	}
}

// waiting is a pod that waits in a simulated cluster.
type waiting struct {
	*testing.T
	seed    uint64
	cluster *simulate.Cluster
	pod     types.UID
	named   []string // the events of the explanation
	events  []string // what has happened since it was last looked at
}

// Changed implements simulate.Watcher.
func (w *waiting) Changed(change simulate.Change) {
	for _, event := range change.Events(w.pod) {
		w.events = append(w.events, event.Label())
	}
}

// Worked implements simulate.Watcher.
func (w *waiting) Worked() {}

// Settled implements simulate.Watcher.
func (w *waiting) Settled() {}

// newWaiting returns the pod of a random cluster, nil if it does not wait for an event.
func newWaiting(t *testing.T, seed uint64, cause func(*randomCluster, *v1.Pod)) *waiting {
	random := &randomCluster{Rand: rand.New(rand.NewPCG(seed, 1))}
	pod := random.build(cause)
	explainer := inspect.NewExplainer(t.Context(), pod.Namespace, pod.Name)
	options := simulate.Options{}
	explainer.Observe(&options)
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(seed, err)
	}
	t.Cleanup(cluster.Close)
	explainer.Watch(cluster)
	w := &waiting{T: t, seed: seed, cluster: cluster, pod: pod.UID}
	cluster.Watch(w)
	w.must(cluster.Create(append([]apiruntime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}, random.objects...)...))
	w.must(cluster.Advance(30 * time.Second))
	explanation, err := explainer.Explain(0)
	w.must(err)
	if explanation.Pool != simulate.PoolUnschedulable && explanation.Pool != simulate.PoolGated || explanation.NominatedNode != "" {
		return nil
	}
	for _, plugin := range explanation.RequeueEvents {
		for _, event := range plugin.Events {
			w.named = append(w.named, event.Event)
		}
	}
	return w
}

func (w *waiting) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("seed %d: %v", w.seed, err)
	}
}

func (w *waiting) state() simulate.PodState {
	state, _ := w.cluster.Pod("default", "waiting")
	return state
}

// checkOthersDoNotWake makes changes of many kinds, and returns how many of them caused none of the named events.
func (w *waiting) checkOthersDoNotWake() (slept int) {
	changes := map[string]func() error{
		"a namespace comes": func() error {
			return w.cluster.Create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		},
		"a driver comes": func() error {
			return w.cluster.Create(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		},
		"a claim comes":  func() error { return w.cluster.Create(objects.PersistentVolumeClaim("other").Build()) },
		"a volume comes": func() error { return w.cluster.Create(objects.PersistentVolume("other").Capacity("1").Build()) },
		"a class comes": func() error {
			return w.cluster.Create(objects.StorageClass("other", "x", storagev1.VolumeBindingImmediate))
		},
		"a slice comes":      func() error { return w.cluster.Create(objects.ResourceSlice("other", "elsewhere", "d")) },
		"a claim of devices": func() error { return w.cluster.Create(objects.ResourceClaim("other").Build()) },
		"an annotation": func() error {
			return w.cluster.Patch(objects.Node("n1").Build(), `{"metadata":{"annotations":{"a":"b"}}}`)
		},
		"a label": func() error { return w.cluster.Patch(objects.Node("n1").Build(), `{"metadata":{"labels":{"a":"b"}}}`) },
		"a pod's label": func() error {
			return w.cluster.Patch(objects.Pod("waiting").Build(), `{"metadata":{"labels":{"a":"b"}}}`)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		before := w.state()
		w.events = nil
		w.must(changes[name]())
		w.must(w.cluster.Advance(time.Second))
		if slices.ContainsFunc(w.events, func(event string) bool { return slices.Contains(w.named, event) }) {
			continue
		}
		slept++
		if after := w.state(); after.Attempts != before.Attempts {
			w.Errorf("seed %d: %s (%q) woke the pod, which waits for %q", w.seed, name, w.events, w.named)
		}
	}
	return slept
}

// checkSuggestionWakes makes the first suggested changes, and reports whether there are any.
func (w *waiting) checkSuggestionWakes() bool {
	before := w.cluster.Objects()
	fork, err := whatif.New(w.Context(), whatif.Options{Objects: before, Concurrency: 1})
	w.must(err)
	defer fork.Close()
	pod := objects.Pod("waiting").Build()
	found, err := find(context.Background(), fork, pod, Options{})
	w.must(err)
	if len(found) == 0 {
		return false
	}
	for _, c := range found[0].changes {
		w.must(c.apply(fork))
	}
	attempts := w.state().Attempts
	w.must(w.replace(before, fork.Objects()))
	w.must(w.cluster.Advance(time.Minute))
	switch state := w.state(); {
	case state.Node == "":
		w.Errorf("seed %d: the pod was not bound after %q; it waits for %q, and there was %q: %s", w.seed, texts(found[0].changes), w.named, w.events, state.Message)
	case attempts > 0 && !slices.Contains(w.named, state.WokenBy):
		w.Errorf("seed %d: after %q the pod was woken by %s, but waited for %q", w.seed, texts(found[0].changes), state.WokenBy, w.named)
	}
	return true
}

// replace makes the objects of the simulated cluster those after some changes.
func (w *waiting) replace(before, after []apiruntime.Object) error {
	name := func(o apiruntime.Object) string {
		return fmt.Sprintf("%T %s/%s", o, o.(metav1.Object).GetNamespace(), o.(metav1.Object).GetName())
	}
	known := map[string]apiruntime.Object{}
	for _, o := range before {
		known[name(o)] = o
	}
	for _, o := range after {
		was := known[name(o)]
		delete(known, name(o))
		var err error
		switch {
		case was == nil:
			err = w.cluster.Create(o)
		case was != o:
			err = w.cluster.Update(o)
		}
		if err != nil {
			return err
		}
	}
	for _, gone := range known {
		if err := w.cluster.Delete(gone); err != nil {
			return err
		}
	}
	return nil
}
