// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package randomcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// T is what a cluster needs of a *testing.T: Fatal ends it where a change that should be possible is not.
type T interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// The verbs of steps.
const (
	Create = "create"
	Patch  = "patch"
	Delete = "delete"
)

// Step is a change that was made.
type Step struct {
	// At is when, since the cluster was empty.
	At time.Duration
	// Verb is one of the constants.
	Verb string
	// Object is what a scenario has under the verb: a whole object; a strategic merge patch, with the kind, the namespace and
	// the name of the object; or only these.
	Object map[string]any
}

// Steps are the changes that were made so far.
func (c *Cluster) Steps() []Step { return c.steps }

func (c *Cluster) create(object apiruntime.Object) {
	c.t.Helper()
	c.check(c.Create(object))
	c.known[nameOf(object)] = object
	content, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(object)
	c.check(err)
	c.record(Create, object, content)
}

// update changes an object that was created here and that nothing else changes.
func (c *Cluster) update(object apiruntime.Object) {
	c.t.Helper()
	before, err := json.Marshal(c.known[nameOf(object)])
	c.check(err)
	after, err := json.Marshal(object)
	c.check(err)
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, object)
	c.check(err)
	c.patch(object, string(patch))
	c.known[nameOf(object)] = object
}

// patch changes an object that is there.
func (c *Cluster) patch(object apiruntime.Object, patch string) {
	c.t.Helper()
	c.check(c.Patch(object, patch))
	var content map[string]any
	c.check(utiljson.Unmarshal([]byte(patch), &content))
	c.record(Patch, object, content)
}

func (c *Cluster) remove(object apiruntime.Object) {
	c.t.Helper()
	c.check(c.Delete(object))
	c.record(Delete, object, map[string]any{})
}

// record remembers a change of an object, whose kind and name are added to the content of the step.
func (c *Cluster) record(verb string, object apiruntime.Object, content map[string]any) {
	c.t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	c.check(err)
	named, err := meta.Accessor(object)
	c.check(err)
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"] = named.GetName()
	if named.GetNamespace() != "" {
		metadata["namespace"] = named.GetNamespace()
	}
	content["apiVersion"], content["kind"] = kinds[0].ToAPIVersionAndKind()
	content["metadata"] = metadata
	c.steps = append(c.steps, Step{At: time.Duration(c.Now()), Verb: verb, Object: content})
}

func (c *Cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// nameOf identifies an object.
func nameOf(object apiruntime.Object) string {
	named, err := meta.Accessor(object)
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return fmt.Sprintf("%T %s/%s", object, named.GetNamespace(), named.GetName())
}
