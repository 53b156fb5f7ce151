// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"fmt"
	"os"
	"slices"

	"github.com/rouse-scheduler/rouse/profiles"
)

// implements tells which points the plugins in these examples run at; each plugin
// implements exactly one of them here.
func implements(plugin string, point profiles.ExtensionPoint) bool {
	switch plugin {
	case "PrioritySort":
		return point == profiles.QueueSort
	case "DefaultBinder":
		return point == profiles.Bind
	}
	scorers := []string{"NodeAffinity", "NodeResourcesFit", "ImageLocality"}
	return point == profiles.Score && slices.Contains(scorers, plugin)
}

func ExampleLoad() {
	config, err := profiles.Load("../testdata/profiles/bin-packing.yaml", profiles.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for _, profile := range config.Profiles {
		fmt.Println(profile.SchedulerName, len(profile.EnabledPlugins()), "plugins")
	}
	// Output:
	// default-scheduler 20 plugins
	// bin-packing 18 plugins
}

func ExampleParse() {
	const text = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 0
profiles:
- schedulername: batch
`
	_, err := profiles.Parse("scheduler.yaml", []byte(text), profiles.Options{})
	fmt.Println(err)
	// Output:
	// scheduler.yaml:4:1: parallelism: Invalid value: 0: should be an integer value greater than zero
	// scheduler.yaml:6:3: profiles[0].schedulername: unknown field; did you mean "schedulerName"?
}

func ExampleProfile_Resolve() {
	const text = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      enabled: [{name: ImageLocality, weight: 5}]
`
	config, err := profiles.Parse("scheduler.yaml", []byte(text), profiles.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	resolved, err := config.Profiles[0].Resolve(implements, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, plugin := range resolved.Points[profiles.Score] {
		fmt.Println(plugin.Name, plugin.Weight, plugin.From)
	}
	// Output:
	// ImageLocality 5 named
	// NodeAffinity 2 default
	// NodeResourcesFit 1 default
}

func ExampleDiff() {
	config, err := profiles.Load("../testdata/profiles/own-plugins-only.yaml", profiles.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := profiles.Load("../testdata/profiles/own-plugins-only.yaml", profiles.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	other.Parallelism = 32
	for _, difference := range profiles.Diff(config, other, nil) {
		fmt.Println(difference)
	}
	// Output:
	// parallelism: 16 -> 32
}
