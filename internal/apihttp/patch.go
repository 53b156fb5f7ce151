// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ApplyPatch returns a patched copy of an object. A strategic merge patch of a custom kind is a merge patch. Patches that are
// applied by the server are up to the backend.
func ApplyPatch(of *Resource, current Object, patchType types.PatchType, data []byte) (Object, error) {
	original, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s/%s: %w", of.Kind, current.GetNamespace(), current.GetName(), err)
	}
	if patchType == types.StrategicMergePatchType && !of.Typed {
		patchType = types.MergePatchType
	}
	patched := NewObject(of.GroupVersionKind())
	var result []byte
	switch patchType {
	case types.StrategicMergePatchType:
		result, err = strategicpatch.StrategicMergePatch(original, data, patched)
	case types.MergePatchType:
		result, err = jsonpatch.MergePatch(original, data)
	case types.JSONPatchType:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(data); err == nil {
			result, err = patch.Apply(original)
		}
	default:
		return nil, apierrors.NewGenericServerResponse(415, "patch", of.GroupVersionResource.GroupResource(), current.GetName(),
			fmt.Sprintf("patches of type %s are not simulated", patchType), 0, false)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("applying the patch: %v", err))
	}
	if err := utiljson.Unmarshal(result, patched); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the patched object: %v", err))
	}
	if of.Typed { // those that a client receives don't have apiVersion and kind
		patched.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return patched, nil
}
