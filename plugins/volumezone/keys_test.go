// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"testing"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// Pods have a key in common exactly if their volumes are in the same places.
func TestKeys(t *testing.T) {
	keyOf := func(name string, pairs ...string) string {
		pl, state := newPlugin(t, objects.PersistentVolumeClaim("c").Bound(name).Build(), volumeIn(name, pairs...)), framework.NewCycleState()
		if _, status := pl.PreFilter(t.Context(), state, claiming("c"), nil); !status.IsSuccess() {
			t.Fatal(status)
		}
		key, ok := pl.AppendFilterKey(nil, state, claiming("c"))
		if !ok {
			t.Fatal("there is no key")
		}
		return string(key)
	}
	if keyOf("v", zone, "a__b") != keyOf("w", zone, "b__a") {
		t.Error("the keys of two volumes in the same zones differ")
	}
	seen := map[string][]string{}
	for _, pairs := range [][]string{
		{zone, "a"}, {zone, "b"}, {zone, "a__b"}, {region, "a"}, {betaZone, "a"}, {zone, "a", region, "a"}, {zone, "a", region, "b"},
	} {
		key := keyOf("v", pairs...)
		if other, taken := seen[key]; taken {
			t.Errorf("volumes in %v and %v have the same key", pairs, other)
		}
		seen[key] = pairs
	}
}
