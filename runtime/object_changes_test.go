// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// A plugin is reported, and the object restored, whichever field of its pod or of the node it changes.
func TestChangesOfEveryFieldAreFound(t *testing.T) {
	var pod v1.Pod
	var node v1.Node
	fill(reflect.ValueOf(&pod).Elem())
	fill(reflect.ValueOf(&node).Elem())
	podBefore, nodeBefore, info := pod.DeepCopy(), node.DeepCopy(), framework.NewNodeInfo()
	info.SetNode(&node)

	var change func()
	plugin := &fake{name: "A", does: map[runtime.Method]func(context.Context){runtime.MethodFilter: func(context.Context) { change() }}}
	reported := 0
	f := build(t, runtime.Options{Execution: runtime.Execution{CheckObjects: true}, PluginFailed: func(failure runtime.PluginFailure) {
		if _, ok := errors.AsType[*runtime.ObjectChangedError](failure.Err); ok {
			reported++
		}
	}}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
	fields := 0
	for path, object := range map[string]any{"pod": &pod, "node": &node} {
		for field := range leaves(reflect.ValueOf(object).Elem(), path) {
			fields++
			reported = 0
			change = func() { clearLeaf(leaves(reflect.ValueOf(object).Elem(), path)[field]) }
			if status := f.RunFilterPlugins(t.Context(), framework.NewCycleState(), &pod, info); !status.IsSuccess() {
				t.Fatal(status.AsError())
			}
			if reported != 1 {
				t.Errorf("%s: %d reports, want 1", field, reported)
			}
		}
	}
	if fields < 500 {
		t.Errorf("only %d fields were changed", fields)
	}
	if !equality.Semantic.DeepEqual(&pod, podBefore) || !equality.Semantic.DeepEqual(&node, nodeBefore) {
		t.Error("the pod and the node were not restored")
	}
}

// fill sets every field to something, with one element in each list and map.
func fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse("3")
		return
	case *metav1.Time:
		*x = metav1.Unix(1_000_000_000, 0)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(element)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}

// leaves returns the fields of an object that have no fields of their own, by their paths.
func leaves(v reflect.Value, path string) map[string]reflect.Value {
	found := map[string]reflect.Value{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Addr().Interface().(type) {
		case *resource.Quantity, *metav1.Time:
			found[path] = v
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		case reflect.Pointer:
			walk(v.Elem(), path)
		case reflect.Slice:
			walk(v.Index(0), path+"[0]")
		default:
			found[path] = v
		}
	}
	walk(v, path)
	return found
}

// clearLeaf changes a field in place: a map has its element cleared, everything else is set to the zero value.
func clearLeaf(v reflect.Value) {
	if v.Kind() != reflect.Map {
		v.SetZero()
		return
	}
	for _, key := range v.MapKeys() {
		v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
	}
}
