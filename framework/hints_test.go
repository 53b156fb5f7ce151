// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintObjects(t *testing.T) {
	a, b := objects.Node("a").Build(), objects.Node("b").Build()
	var noNode *v1.Node
	tombstone := func(obj any) clientcache.DeletedFinalStateUnknown {
		return clientcache.DeletedFinalStateUnknown{Key: "a", Obj: obj}
	}
	tests := []struct {
		name             string
		old, new         any
		wantOld, wantNew *v1.Node
		wantErr          string
	}{
		{name: "both absent"},
		{name: "added", new: b, wantNew: b},
		{name: "updated", old: a, new: b, wantOld: a, wantNew: b},
		{name: "deleted", old: a, wantOld: a},
		{name: "typed nil", old: noNode, new: noNode},
		{name: "tombstone", old: tombstone(a), wantOld: a},
		{name: "empty tombstone", old: tombstone(nil)},
		{name: "tombstone of another type", old: tombstone(objects.Pod("p").Build()), wantErr: "old object of the event: expected *v1.Node, got *v1.Pod"},
		{name: "old object of another type", old: objects.Pod("p").Build(), new: b, wantErr: "old object of the event: expected *v1.Node, got *v1.Pod"},
		{name: "new object of another type", old: a, new: "text", wantErr: "new object of the event: expected *v1.Node, got string"},
		{name: "a value instead of a pointer", new: *b, wantErr: "new object of the event: expected *v1.Node, got v1.Node"},
		{name: "a new object is no tombstone", new: tombstone(a), wantErr: "new object of the event: expected *v1.Node, got cache.DeletedFinalStateUnknown"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			gotOld, gotNew, err := framework.HintObjects[v1.Node](test.old, test.new)
			if gotOld != test.wantOld || gotNew != test.wantNew {
				t.Errorf("objects %v, %v, want %v, %v", gotOld, gotNew, test.wantOld, test.wantNew)
			}
			if test.wantErr == "" && err != nil || test.wantErr != "" && (err == nil || err.Error() != test.wantErr) {
				t.Errorf("error %v, want %q", err, test.wantErr)
			}
		})
	}
}

func TestHintFor(t *testing.T) {
	broken := errors.New("broken")
	waiting, before, after := objects.Pod("waiting").Build(), objects.Node("before").Build(), objects.Node("after").Build()
	calls := 0
	hint := framework.HintFor(func(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
		calls++
		if pod != waiting || oldNode != before || newNode != after {
			t.Errorf("called with %v, %v, %v", pod.Name, oldNode, newNode)
		}
		return fwk.QueueSkip, broken
	})
	if advice, err := hint(klog.Logger{}, waiting, before, after); advice != fwk.QueueSkip || !errors.Is(err, broken) || calls != 1 {
		t.Errorf("hint = %v, %v after %d calls, want what the function returned after one", advice, err, calls)
	}
	advice, err := hint(klog.Logger{}, waiting, waiting, after)
	if advice != fwk.Queue || err == nil || !strings.Contains(err.Error(), "*v1.Pod") || calls != 1 {
		t.Errorf("hint with a wrong type = %v, %v after %d calls, want Queue and an error without another call", advice, err, calls)
	}
}
