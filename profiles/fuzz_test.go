// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/fuzzlimit"
)

// FuzzParse checks that no text makes Parse panic, that errors name the file, and
// that what loads can be written and loaded again.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{brokenFiles, validFiles} {
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || len(files) == 0 {
			f.Fatalf("no files in %s: %v", folder, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, seed := range []string{
		"profiles: null\n", "profiles: [null]\n", "profiles: [{plugins: null, pluginConfig: [null]}]\n", "profiles: [{pluginConfig: [{args: 5}]}]\n",
		"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: null}}]}]\n", "extenders: [null]\n",
		"profiles: [{plugins: {score: {enabled: [null, {weight: null}]}}}]\n", "profiles: [{pluginConfig: [{name: a, args: [1]}]}]\n",
		"profiles: [{pluginConfig: [{name: '', args: {kind: Args}}]}]\n", "leaderElection: null\nclientConnection: {qps: 1e38}\n",
	} {
		f.Add([]byte(fileHeader + seed))
	}
	opts := Options{KnownPlugins: knownPlugins()}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer fuzzlimit.Limits{}.Start()()
		config, err := Parse("name.yaml", data, opts)
		for _, line := range lines(err) {
			if err != nil && !strings.HasPrefix(err.Error(), "name.yaml:") {
				t.Errorf("error does not name the file: %s", line)
			}
		}
		if err != nil {
			return
		}
		if _, err := config.Resolve(implementsInTree, isInTree); err == nil {
			if _, err := config.ApplyExtenders(); err != nil && !strings.Contains(err.Error(), "NodeResourcesFitArgs") {
				t.Errorf("ApplyExtenders: %v", err)
			}
		}
		written, err := config.YAML()
		if err != nil {
			t.Fatalf("YAML: %v", err)
		}
		again, err := Parse("again.yaml", written, opts)
		if err != nil {
			t.Fatalf("what was written does not load: %v\n%s", err, written)
		}
		if differences := Diff(config, again, nil); len(differences) > 0 {
			t.Errorf("what was written differs: %v", differences)
		}
	})
}
