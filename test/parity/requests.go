// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"encoding/json"
	"fmt"
	"slices"

	clienttesting "k8s.io/client-go/testing"
)

// requests returns the changes that a client asked for, sorted. That Rouse names the UID of the
// pod in each of them differs on purpose.
func requests(actions []clienttesting.Action) []string {
	var all []string
	for _, action := range actions {
		switch action := action.(type) {
		case clienttesting.PatchAction:
			all = append(all, fmt.Sprintf("%s patch %s %s", action.GetName(), action.GetSubresource(), withoutUID(action.GetPatch())))
		case clienttesting.DeleteAction:
			options := action.(clienttesting.DeleteActionImpl).DeleteOptions
			options.Preconditions = nil
			all = append(all, fmt.Sprintf("%s delete %+v", action.GetName(), options))
		case clienttesting.UpdateAction: // or something that is created
			object, _ := json.Marshal(action.GetObject())
			all = append(all, fmt.Sprintf("%s %s %s", action.GetVerb(), action.GetSubresource(), object))
		default:
			all = append(all, fmt.Sprintf("%s %s", action.GetVerb(), action.GetSubresource()))
		}
	}
	slices.Sort(all)
	return all
}

// withoutUID returns a patch without the UID of its object.
func withoutUID(patch []byte) string {
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return string(patch)
	}
	delete(fields, "metadata")
	text, err := json.Marshal(fields)
	if err != nil {
		return string(patch)
	}
	return string(text)
}
