// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Wherever a plugin fails, the trace has its name and what happened; of a hint, the event too.
func TestTraceShowsWhatPluginsDoWrong(t *testing.T) {
	points := []runtime.Method{
		runtime.MethodPreEnqueue, runtime.MethodLess, runtime.MethodPreFilter, runtime.MethodFilter, runtime.MethodPostFilter,
		runtime.MethodPreScore, runtime.MethodScore, runtime.MethodNormalizeScore, runtime.MethodReserve, runtime.MethodUnreserve,
		runtime.MethodPermit, runtime.MethodPreBindPreFlight, runtime.MethodPreBind, runtime.MethodBind, runtime.MethodPostBind,
		runtime.MethodQueueingHint,
	}
	silent := []runtime.Method{runtime.MethodLess, runtime.MethodUnreserve, runtime.MethodPostBind} // they return no status
	for what, do := range misbehaviours() {
		for _, point := range points {
			if what == "fails" && slices.Contains(silent, point) {
				continue
			}
			t.Run(fmt.Sprintf("%s in %s", what, point), func(t *testing.T) {
				cluster, err := misplay(t, &rude{at: point, do: do}, func(options *simulate.Options) { options.Trace = true })
				if err != nil {
					t.Fatal(err)
				}
				found := slices.ContainsFunc(cluster.Trace(), func(entry simulate.TraceEntry) bool {
					about := point == runtime.MethodLess || entry.Pod == "shop/bad"
					said := strings.Contains(entry.Message, "oops") || strings.Contains(entry.Message, "goroutine")
					event := (point == runtime.MethodQueueingHint) == (entry.Event == "NodeAdd")
					failed := entry.What == simulate.WhatFailed && entry.Plugin == "Rude" || what == "fails" && entry.What == simulate.WhatRejected
					return failed && about && said && event
				})
				if !found {
					t.Errorf("no entry says so:\n%v", cluster.Trace())
				}
			})
		}
	}
}

// A hint that fails is an entry of its own, before the pod is woken.
func TestTraceOfAHintThatFails(t *testing.T) {
	_, file, line, _ := goruntime.Caller(0)
	do := func(call) *fwk.Status { panic("oops") } // the line after the one above
	cluster, err := misplay(t, &rude{at: runtime.MethodQueueingHint, do: do}, func(options *simulate.Options) { options.Trace = true })
	if err != nil {
		t.Fatal(err)
	}
	trace := cluster.Trace()
	at := slices.IndexFunc(trace, func(entry simulate.TraceEntry) bool { return entry.What == simulate.WhatFailed })
	if at < 0 || trace[at+1].What != simulate.WhatWoken || trace[at+1].Pod != "shop/bad" {
		t.Fatalf("want a pod that is woken because a hint failed:\n%v", trace)
	}
	source := fmt.Sprintf("simulate%s:%d", file[strings.LastIndex(file, "/"):], line+1)
	want := `{"at":"5s","pod":"shop/bad","what":"failed","event":"NodeAdd","plugin":"Rude",` +
		`"message":"the queueing hint failed: plugin \"Rude\" panicked in QueueingHintFn: oops (at ` + source + `)"}`
	if got, err := json.Marshal(trace[at]); err != nil || string(got) != want {
		t.Errorf("entry %s, %v\nwant  %s", got, err, want)
	}
}
