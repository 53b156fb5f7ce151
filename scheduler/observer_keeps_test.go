// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// An observer, and a PostFilter plugin, may keep what they are told of the nodes and read it while the scheduler goes on.
// The race detector decides, and the verdicts must be those of the attempt that failed.
func TestVerdictsCanBeKept(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"with cached verdicts":    bare,
		"without cached verdicts": func(options *Options) { bare(options); options.Features.DisableVerdictCaches = true },
	} {
		t.Run(name, func(t *testing.T) {
			var kept []fwk.NodeToStatusReader
			f := newFixtureWith(t, change, &scripted{
				name: "Rejects",
				filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
					return fwk.NewStatus(fwk.Unschedulable, node.Node().Name)
				},
			}, makesRoom(func(statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				kept = append(kept, statuses)
				return nil, fwk.NewStatus(fwk.Unschedulable)
			}))
			f.addNodes("n1", "n2")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()

			var reading sync.WaitGroup
			reading.Go(func() {
				want := map[string]string{"n1": "n1", "n2": "n2"}
				if diff := cmp.Diff(want, messages(f.seen.failures[0])); diff != "" {
					t.Errorf("verdicts of the first attempt (-want +got):\n%s", diff)
				}
				if got := kept[0].Get("n2").Message(); got != "n2" {
					t.Errorf("the plugin reads %q of n2, want n2", got)
				}
			})
			f.cacheOnlyPod(objects.Pod("placed").Requests("cpu", "1").Node("n1").Build()) // which puts another info of n1 in the list of nodes
			if err := f.cache.UpdateSnapshot(f.snapshot); err != nil {
				t.Fatal(err)
			}
			reading.Wait()
		})
	}
}

// messages returns what was said of each node.
func messages(failure Failure) map[string]string {
	texts := map[string]string{}
	failure.Diagnosis.NodeToStatus.ForEachExplicitNode(func(node string, status *fwk.Status) { texts[node] = status.Message() })
	return texts
}

// cacheOnlyPod has the cache count a pod.
func (f *fixture) cacheOnlyPod(pod *v1.Pod) {
	f.t.Helper()
	if err := f.cache.AddPod(pod); err != nil {
		f.t.Fatal(err)
	}
}
