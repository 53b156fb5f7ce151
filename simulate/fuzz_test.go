// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rouse-scheduler/rouse/internal/fuzzlimit"
	"github.com/rouse-scheduler/rouse/simulate"
)

// seed adds the scenarios of the project and some oddities.
func seed(f *testing.F) {
	f.Helper()
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
	f.Add([]byte(busyCluster(1, 3, 12)))
	f.Add([]byte(`{"apiVersion": "v1", "kind": "NodeList", "items": [null, {}, []]}`))
	f.Add([]byte(`{apiVersion: rouse/v1alpha1, kind: Scenario, spec: {steps: [null, {create: null}, {create: []}, {expect: {pods: [{}]}}]}}`))
}

// FuzzLoad checks that no input makes the loader panic, or fail with anything but an InputError.
func FuzzLoad(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzzlimit.Limits{}.Start()()
		input, err := simulate.Parse("fuzz.yaml", data)
		if err == nil {
			if input == nil {
				t.Fatal("there is neither an input nor an error")
			}
			return
		}
		var inputErr *simulate.InputError
		if !errors.As(err, &inputErr) || err.Error() == "" {
			t.Fatalf("got %T %q, want an InputError", err, err)
		}
	})
}

// FuzzRun checks that no input that can be read makes a simulation panic, or lose a pod.
func FuzzRun(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzzlimit.Limits{}.Start()()
		if len(data) > 10_000 {
			return
		}
		input, err := simulate.Parse("fuzz.yaml", data)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		report, err := simulate.Run(ctx, input, simulate.Options{Trace: true})
		if err != nil {
			return
		}
		for _, state := range report.Pods {
			if !slices.Contains(simulate.Pools(), state.Pool) {
				t.Errorf("pod %s/%s is in pool %q", state.Namespace, state.Name, state.Pool)
			}
		}
	})
}
