// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/inspect"
)

// target is what changes are applied to: a fork, as [whatif.Cluster] is one.
type target interface {
	Get(named apiruntime.Object) apiruntime.Object
	Add(added ...apiruntime.Object) error
	Update(updated ...apiruntime.Object) error
	Remove(removed ...apiruntime.Object) error
}

// change is a change with what carries it out. Changes of one suggestion are applied one after the other, so each starts from
// what those before it made of the object.
type change struct {
	inspect.Change
	// rank says which of equally small changes is suggested first, from the lowest on.
	rank  int
	apply func(target) error
	// needed is what a change frees, and resized the same change with other amounts; nil if there is nothing to count.
	needed  amounts
	resized func(amounts) *change
}

// Ranks: what concerns only the pod comes first, what costs others comes last.
const (
	rankOfPod = iota
	rankOfCordon
	rankOfLabel
	rankOfRoom
	rankOfVolume
	rankOfTaint
	rankOfStart
	rankOfEnd
	rankOfRequest
	rankOfNewNode
)

// id tells changes apart.
func (c *change) id() string {
	return fmt.Sprint(c.Action, "|", c.Kind, "|", c.Namespace, "|", c.Name, "|", c.Key, "|", c.Value, "|", c.Amounts)
}

// fix is changes that together may remove a blocker.
type fix []*change

var errGone = errors.New("the object is gone")

// edit changes an object that is there.
func edit[T interface {
	apiruntime.Object
	metav1.Object
	DeepCopy() T
}](named T, do func(T)) func(target) error {
	return func(t target) error {
		found, ok := t.Get(named).(T)
		if !ok {
			return fmt.Errorf("changing %s: %w", named.GetName(), errGone)
		}
		changed := found.DeepCopy()
		do(changed)
		return t.Update(changed)
	}
}

func editNode(name string, do func(*v1.Node)) func(target) error {
	return edit(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, do)
}

func editPod(pod *v1.Pod, do func(*v1.Pod)) func(target) error {
	return edit(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, do)
}

// ofNode begins a change of a node.
func ofNode(action inspect.ChangeAction, node, key, value, text string) inspect.Change {
	return inspect.Change{Action: action, Kind: "Node", Name: node, Key: key, Value: value, Text: text}
}

// ofPod begins a change of a pod.
func ofPod(action inspect.ChangeAction, pod *v1.Pod, key, value, text string) inspect.Change {
	return inspect.Change{Action: action, Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, Key: key, Value: value, Text: text}
}
