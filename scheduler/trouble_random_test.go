// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// starts keeps when the last attempt of every pod began.
type starts struct {
	NopObserver
	mu sync.Mutex
	at map[string]time.Time
}

func (s *starts) AttemptStarted(pod *v1.Pod, _ int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[pod.Name] = time.Now()
}

// One call in five fails, half of those after they were carried out, while pods and nodes come and go. In the end every
// pod that is left is bound, none was bound twice, or to a node that was gone before its attempt began, and no node has
// more than fits on it.
func TestRandomTrouble(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { troubleAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func troubleAtRandom(t *testing.T, random *rand.Rand) {
	const nodes, pods = 12, 40 // of four cores, and of one
	client := fake.NewClientset()
	errs := troubles()
	names := slices.Sorted(maps.Keys(errs))
	faults := 0
	over := false
	dice := rand.New(rand.NewPCG(random.Uint64(), 2)) // of the goroutines that call the API
	api := newFakeAPI(client, func(string) fault {
		if over || dice.IntN(5) > 0 {
			return fault{}
		}
		faults++
		return fault{err: errs[names[dice.IntN(len(names))]], carried: dice.IntN(2) == 0}
	})
	observer := &starts{at: map[string]time.Time{}}
	options := Options{Client: client, Informers: NewInformerFactory(client), Observers: Observers{Scheduler: observer}}
	s, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	start(t, s, options)
	gone := map[string]time.Time{}
	core := client.CoreV1()
	for i := range nodes {
		must(t)(core.Nodes().Create(t.Context(), objects.Node(fmt.Sprint("n", i)).Capacity("cpu", "4", "memory", "8Gi").Build(), metav1.CreateOptions{}))
	}
	for i := range pods {
		must(t)(core.Pods("default").Create(t.Context(), objects.Pod(fmt.Sprint("p", i)).Requests("cpu", "1").Build(), metav1.CreateOptions{}))
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		switch random.IntN(12) {
		case 0:
			_ = client.Tracker().Delete(podsResource(), "default", fmt.Sprint("p", random.IntN(i+1)))
		case 1:
			name := fmt.Sprint("n", random.IntN(2)) // most nodes stay
			if gone[name].IsZero() && core.Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}) == nil {
				gone[name] = time.Now()
			}
		}
	}
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	api.mu.Lock()
	over = true // the checks below are calls, too
	api.mu.Unlock()
	if faults < 5 {
		t.Errorf("only %d calls failed", faults)
	}
	if len(api.wrong) > 0 {
		t.Error(api.wrong)
	}
	list, err := core.Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	for _, pod := range list.Items {
		node := pod.Spec.NodeName
		used[node]++
		if node == "" {
			t.Errorf("pod %s is not bound", pod.Name)
		}
		if at, ok := gone[node]; ok && observer.at[pod.Name].After(at) {
			t.Errorf("pod %s was bound to %s, which was gone before its attempt began", pod.Name, node)
		}
	}
	for node, count := range used {
		if count > 4 {
			t.Errorf("node %s has %d pods, 4 fit", node, count)
		}
	}
	if counts := s.Cache().Counts(); counts.AssumedPods > 0 || counts.Pods != len(list.Items) {
		t.Errorf("the cache counts %+v, want the %d pods of the API", counts, len(list.Items))
	}
	if stats := s.Queue().Stats(); stats.Active+stats.Backoff+stats.Unschedulable+stats.InFlight > 0 {
		t.Errorf("the queue has %+v, want nothing", stats)
	}
}

// must ends the test if a call of the API fails.
func must(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
