// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// suiteFolder is where the suite lies in the module k8s.io/kubernetes.
const suiteFolder = "test/integration/scheduler_perf"

// configFile is the name of the files that list test cases; templates are named relative to them.
const configFile = "performance-config.yaml"

// testCase is an entry of a file: what is done, and in which sizes.
type testCase struct {
	Name                   string            `json:"name"`
	FeatureGates           map[string]bool   `json:"featureGates"`
	SchedulerConfigPath    string            `json:"schedulerConfigPath"`
	DefaultPodTemplatePath string            `json:"defaultPodTemplatePath"`
	MetricsCollectorConfig *metricsConfig    `json:"metricsCollectorConfig"`
	Labels                 []string          `json:"labels"`
	WorkloadTemplate       []json.RawMessage `json:"workloadTemplate"`
	Workloads              []sizeOfCase      `json:"workloads"`
}

// sizeOfCase is one size of a test case.
type sizeOfCase struct {
	Name         string          `json:"name"`
	Labels       []string        `json:"labels"`
	FeatureGates map[string]bool `json:"featureGates"`
	Threshold    threshold       `json:"threshold"`
	Params       map[string]any  `json:"params"`
}

// metricsConfig names metrics of the scheduler with labels. The runner reads these metrics of every workload.
type metricsConfig struct {
	Metrics map[string][]struct {
		Label  string   `json:"label"`
		Values []string `json:"values"`
	} `json:"metrics"`
}

// threshold is the least throughput on upstream's machines, in pods a second; zero is none. It is a number, or one for each
// run of the suite under the name of that run.
type threshold float64

// UnmarshalJSON implements json.Unmarshaler.
func (t *threshold) UnmarshalJSON(data []byte) error {
	var byRun map[string]float64
	if err := json.Unmarshal(data, &byRun); err == nil {
		for _, least := range byRun {
			*t = max(*t, threshold(least))
		}
		return nil
	}
	return json.Unmarshal(data, (*float64)(t))
}

// workload is one size of a test case, with everything that it takes to run it.
type workload struct {
	// Topic is the folder of the file, Case the test case and Size the name of the size.
	Topic, Case, Size string
	Labels            []string
	Threshold         float64
	FeatureGates      map[string]bool

	suite, folder   string // of the suite, and of the file
	schedulerConfig string // path, or nothing
	defaultPod      string // path of the template, or nothing
	params          params
	operations      []operation
}

// name is how the workload is called in messages and reports.
func (w *workload) name() string { return w.Topic + "/" + w.Case + "/" + w.Size }

// loadSuite reads every file of a suite. Unknown operations and fields are errors.
func loadSuite(folder string) ([]*workload, error) {
	var all []*workload
	var failures []error
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != configFile {
			return err
		}
		topic, err := filepath.Rel(folder, filepath.Dir(path))
		if err != nil {
			return err
		}
		loaded, err := loadFile(folder, path, filepath.ToSlash(topic))
		all = append(all, loaded...)
		failures = append(failures, err)
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("there is no workload in any %s", configFile)
	}
	if err := errors.Join(append(failures, err)...); err != nil {
		return nil, fmt.Errorf("reading the suite in %s: %w", folder, err)
	}
	return all, nil
}

func loadFile(suite, path, topic string) ([]*workload, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var cases []testCase
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var loaded []*workload
	for _, c := range cases {
		operations, err := parseOperations(c.WorkloadTemplate)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, c.Name, err)
		}
		for _, size := range c.Workloads {
			w := &workload{
				Topic: topic, Case: c.Name, Size: size.Name, Threshold: float64(size.Threshold),
				Labels: slices.Concat(c.Labels, size.Labels), FeatureGates: map[string]bool{},
				suite: suite, folder: filepath.Dir(path), params: size.Params, operations: operations,
			}
			maps.Copy(w.FeatureGates, c.FeatureGates)
			maps.Copy(w.FeatureGates, size.FeatureGates)
			if c.SchedulerConfigPath != "" {
				w.schedulerConfig = filepath.Join(w.folder, c.SchedulerConfigPath)
			}
			if c.DefaultPodTemplatePath != "" {
				w.defaultPod = filepath.Join(w.folder, c.DefaultPodTemplatePath)
			}
			loaded = append(loaded, w)
		}
	}
	return loaded, nil
}

// gates returns the feature gates as the value of --feature-gates.
func (w *workload) gates() string {
	var gates []string
	for _, name := range slices.Sorted(maps.Keys(w.FeatureGates)) {
		gates = append(gates, fmt.Sprintf("%s=%t", name, w.FeatureGates[name]))
	}
	return strings.Join(gates, ",")
}
