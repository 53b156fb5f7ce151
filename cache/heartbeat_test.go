// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestOnlyHeartbeats changes every field of a node, one at a time.
func TestOnlyHeartbeats(t *testing.T) {
	var paths []string
	original := reflect.New(reflect.TypeFor[v1.Node]()).Elem()
	fill(original, "", &paths)
	ignored := []string{".TypeMeta.Kind", ".TypeMeta.APIVersion", ".ObjectMeta.ResourceVersion", ".Status.Conditions.LastHeartbeatTime"}
	for _, path := range paths {
		node := original.Addr().Interface().(*v1.Node)
		updated := node.DeepCopy()
		if !onlyHeartbeat(node, updated) {
			t.Fatal("a copy is not the same")
		}
		setLeaf(reflect.ValueOf(updated).Elem(), strings.Split(path, ".")[1:])
		if reflect.DeepEqual(node, updated) {
			t.Fatalf("the test does not change %s", path)
		}
		want := slices.Contains(ignored, path) || strings.HasPrefix(path, ".ObjectMeta.ManagedFields.")
		if got := onlyHeartbeat(node, updated); got != want {
			t.Errorf("another %s counts as a heartbeat: %t, want %t", path, got, want)
		}
		if got := onlyHeartbeat(updated, node); got != want {
			t.Errorf("the original %s counts as a heartbeat: %t, want %t", path, got, want)
		}
	}
	if len(paths) < 80 {
		t.Errorf("a node has %d fields, which is too few", len(paths))
	}
}

// fill gives every field of a value something, and notes the paths of the leaves.
func fill(v reflect.Value, path string, paths *[]string) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1000, 0)))
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1")))
	default:
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path, paths)
			return
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), path, paths)
			return
		case reflect.Map:
			element := reflect.New(v.Type().Elem()).Elem()
			fill(element, path, paths)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), element)
			return
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i), path+"."+v.Type().Field(i).Name, paths)
			}
			return
		case reflect.String:
			v.SetString("value")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int32, reflect.Int64:
			v.SetInt(7)
		case reflect.Uint8:
			v.SetUint(7)
		default:
			panic("no value for " + path + ", a " + v.Type().String())
		}
	}
	*paths = append(*paths, path)
}

// setLeaf gives the leaf at a path another value.
func setLeaf(v reflect.Value, path []string) {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(2000, 0)))
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("2")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		setLeaf(v.Elem(), path)
	case reflect.Slice:
		setLeaf(v.Index(0), path)
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		setLeaf(element, path)
		v.SetMapIndex(v.MapKeys()[0], element)
	case reflect.Struct:
		setLeaf(v.FieldByName(path[0]), path[1:])
	case reflect.String:
		v.SetString("another value")
	case reflect.Bool:
		v.SetBool(false)
	case reflect.Int32, reflect.Int64:
		v.SetInt(8)
	case reflect.Uint8:
		v.SetUint(8)
	}
}

// TestHeartbeatsChangeNoIndex has heartbeats and other changes before the snapshot is updated.
func TestHeartbeatsChangeNoIndex(t *testing.T) {
	c, s := New(Options{}), &Snapshot{}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	beats := 0
	beat := func(node *v1.Node) *v1.Node {
		beats++
		updated := node.DeepCopy()
		updated.ResourceVersion = "later"
		updated.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, LastHeartbeatTime: metav1.NewTime(time.Unix(int64(beats), 0))}}
		check(c.UpdateNode(updated))
		return updated
	}
	nodes := map[string]*v1.Node{}
	for _, name := range []string{"alive", "labelled", "busy"} {
		nodes[name] = objects.Node(name).Build()
		check(c.AddNode(nodes[name]))
		nodes[name] = beat(nodes[name])
	}
	check(c.UpdateSnapshot(s))
	before := s.Generation()

	nodes["alive"] = beat(nodes["alive"])
	labelled := nodes["labelled"].DeepCopy()
	labelled.Labels = map[string]string{"disk": "ssd"}
	check(c.UpdateNode(labelled))
	nodes["labelled"] = beat(labelled)
	nodes["busy"] = beat(nodes["busy"])
	check(c.AddPod(objects.Pod("p").Node("busy").Build()))
	nodes["busy"] = beat(nodes["busy"])
	check(c.UpdateSnapshot(s))

	changed := map[string]bool{}
	for index := range s.ChangedSince(before) {
		changed[s.NodeAt(index).Node().Name] = true
	}
	if len(changed) != 2 || !changed["labelled"] || !changed["busy"] {
		t.Errorf("changed are %v, want the nodes with a label and with a pod", changed)
	}
	for name, node := range nodes {
		info, err := s.Get(name)
		check(err)
		if info.Node() != node {
			t.Errorf("the snapshot has an old version of node %s", name)
		}
	}
	before = s.Generation()
	beat(nodes["alive"])
	check(c.UpdateSnapshot(s))
	for index := range s.ChangedSince(before) {
		t.Errorf("after a heartbeat node %s counts as changed", s.NodeAt(index).Node().Name)
	}
}
