// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"testing"
)

// A search tells plugins apart by their indexes, however many there are.
func TestKeysOfManyPlugins(t *testing.T) {
	seen := map[string]int{}
	var all []byte
	for index := range 1000 {
		key, ok := appendKey(nil, index, func(key []byte) ([]byte, bool) { return append(key, "same"...), true })
		if !ok {
			t.Fatal("a plugin with a key has none")
		}
		if other, taken := seen[string(key)]; taken {
			t.Fatalf("plugins %d and %d share a key", other, index)
		}
		seen[string(key)] = index
		all = append(all, key...)
	}
	for want := range 1000 {
		index, key := nextKey(all)
		if index != want || seen[string(key)] != want {
			t.Fatalf("read plugin %d with %q, want %d", index, key, want)
		}
		all = all[len(key):]
	}
}
