// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"maps"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// part is the part of an object that a request may change.
type part int

const (
	wholeObject part = iota
	// allButStatus is what a request for the object itself changes.
	allButStatus
	// statusOnly is what a request for the subresource status changes, besides metadata.
	statusOnly
)

// patch applies a patch to an object and returns the object as stored.
func (s *store) patch(c *collection, namespace, name string, patchType types.PatchType, data []byte, scope part) (object, error) {
	current, err := c.get(namespace, name)
	if err != nil {
		return nil, err
	}
	result, err := apihttp.ApplyPatch(c.served(), current, patchType, data)
	if err != nil {
		return nil, err
	}
	patched := result.(object)
	if patched.GetName() != name || patched.GetNamespace() != namespace {
		return nil, apierrors.NewBadRequest("a patch must not change the name or namespace of an object")
	}
	c.keepOtherPart(current, patched, scope)
	return s.update(c, patched, scope)
}

// patchNow applies a strategic merge patch to the whole object, which is how scenarios change objects.
func (s *store) patchNow(c *collection, namespace, name string, data []byte) (object, error) {
	return s.patch(c, namespace, name, types.StrategicMergePatchType, data, wholeObject)
}

// apply changes an object as it is applied, or creates it.
func (s *store) apply(c *collection, namespace, name string, data []byte, scope part) (object, error) {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the applied object: %v", err))
	}
	if _, err := c.get(namespace, name); !apierrors.IsNotFound(err) {
		return s.patch(c, namespace, name, types.StrategicMergePatchType, asJSON, scope)
	}
	if scope == statusOnly {
		return nil, apierrors.NewNotFound(c.resource.GroupResource(), name)
	}
	created := c.newObject()
	if err := utiljson.Unmarshal(asJSON, created); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the applied object: %v", err))
	}
	created.SetNamespace(namespace)
	created.SetName(name)
	return s.admit(c, created)
}

// clearType removes apiVersion and kind from a typed object: those that a client receives don't have them.
func clearType(o object) {
	if _, custom := o.(*unstructured.Unstructured); !custom {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// keepOtherPart restores what the request must not change. Kinds without a status have only one part.
func (c *collection) keepOtherPart(current, changed object, scope part) {
	if scope == wholeObject {
		return
	}
	if untyped, custom := changed.(*unstructured.Unstructured); custom {
		c.keepOtherFields(current.(*unstructured.Unstructured), untyped, scope)
		return
	}
	before, after := fieldsOf(current), fieldsOf(changed)
	status := after("Status")
	if !status.IsValid() {
		return
	}
	if scope == allButStatus {
		status.Set(before("Status"))
		return
	}
	if spec := after("Spec"); spec.IsValid() {
		spec.Set(before("Spec"))
	}
}

// keepOtherFields does the same with an object of a custom kind, whose status is a part of its own only if the definition of
// the kind says so. A request for the status changes nothing else.
func (c *collection) keepOtherFields(current, changed *unstructured.Unstructured, scope part) {
	status, found := current.Object["status"]
	if scope == statusOnly {
		kept := maps.Clone(current.Object)
		status, found = changed.Object["status"]
		version := changed.GetResourceVersion()
		changed.Object = kept
		changed.Object["metadata"] = maps.Clone(kept["metadata"].(map[string]any))
		changed.SetResourceVersion(version)
	} else if !c.hasStatus {
		return
	}
	if found {
		changed.Object["status"] = status
	} else {
		delete(changed.Object, "status")
	}
}

// fieldsOf returns a function that finds the fields of a typed object by name.
func fieldsOf(o object) func(name string) reflect.Value {
	value := reflect.Indirect(reflect.ValueOf(o))
	if value.Kind() != reflect.Struct {
		return func(string) reflect.Value { return reflect.Value{} }
	}
	return value.FieldByName
}
