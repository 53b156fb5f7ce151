// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// FuzzLoad checks that no input makes the loader panic, or fail with anything but an InputError.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"../testdata/broken/scenarios/*", "../testdata/scenarios/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds match %s (%v)", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(kubectlList))
	f.Add([]byte(`{"apiVersion": "v1", "kind": "NodeList", "items": [null, {}, []]}`))
	f.Add([]byte(`{apiVersion: rouse/v1alpha1, kind: Scenario, spec: {steps: [null, {create: null}, {create: []}, {expect: {pods: [{}]}}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		input, err := simulate.Parse("fuzz.yaml", data)
		if err == nil {
			if input == nil {
				t.Fatal("there is neither an input nor an error")
			}
			return
		}
		var fault *simulate.InputError
		if !errors.As(err, &fault) || err.Error() == "" {
			t.Fatalf("got %T %q, want an InputError", err, err)
		}
	})
}
