// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstreamscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	upstreamcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	upstreamplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// resolved is what a configuration comes to: by profile and extension point, the plugins in call order, with weights.
type resolved map[string]map[string][]string

// TestConfigurations compares whether a configuration is accepted, and what it comes to: those of the test data, and
// random ones.
func TestConfigurations(t *testing.T) {
	settings := readSettings(t)
	counts := counter{}
	for _, pattern := range []string{"../../testdata/profiles/*", "../../testdata/broken/profiles/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			counts.add(compareConfigurations(t, filepath.Base(file), data))
		}
	}
	for i := range settings.rounds {
		seed := settings.seed + uint64(i)
		data, err := yaml.Marshal(newGenerator(seed).configuration())
		if err != nil {
			t.Fatal(err)
		}
		counts.add(compareConfigurations(t, fmt.Sprintf("SEED=%d N=1", seed), data))
		if t.Failed() {
			break
		}
	}
	counts.report(t)
}

func compareConfigurations(t *testing.T, name string, data []byte) map[string]int {
	t.Helper()
	if reason := refusedOnPurpose(name); reason != "" {
		if _, err := ourConfiguration(t.Context(), data); err == nil {
			t.Errorf("%s: Rouse accepts it, although %s", name, reason)
		}
		return nil
	}
	want, theirErr := theirConfiguration(t.Context(), data)
	got, ourErr := ourConfiguration(t.Context(), data)
	if (theirErr == nil) != (ourErr == nil) {
		t.Errorf("%s: kube-scheduler: %v\nRouse: %v\n%s", name, theirErr, ourErr, data)
		return nil
	}
	if theirErr != nil {
		return map[string]int{"refused": 1}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: resolved profiles (-kube-scheduler +rouse):\n%s\n%s", name, diff, data)
	}
	compared := 1
	for _, points := range want {
		compared += len(points)
	}
	return map[string]int{"accepted": 1, "extension points": compared}
}

// refusedOnPurpose returns why Rouse refuses a file of the test data that kube-scheduler takes; empty for all others.
func refusedOnPurpose(file string) string {
	switch file {
	case "two-documents.yaml":
		return "only the first document would count"
	}
	return ""
}

func theirConfiguration(ctx context.Context, data []byte) (resolved, error) {
	object, _, err := upstreamscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*upstreamconfig.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("decoded a %T", object)
	}
	config.APIVersion = configv1.SchemeGroupVersion.String()
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, err
	}
	result := resolved{}
	for i := range config.Profiles {
		client := fake.NewClientset()
		built, err := upstreamruntime.NewFramework(ctx, upstreamplugins.NewInTreeRegistry(), &config.Profiles[i],
			upstreamruntime.WithClientSet(client), upstreamruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)),
			upstreamruntime.WithSharedDRAManager(noDevices{}), upstreamruntime.WithSnapshotSharedLister(upstreamcache.NewEmptySnapshot()))
		if err != nil {
			return nil, err
		}
		points := map[string][]string{}
		listed := built.ListPlugins()
		for point, set := range map[string]upstreamconfig.PluginSet{
			"preEnqueue": listed.PreEnqueue, "queueSort": listed.QueueSort, "preFilter": listed.PreFilter, "filter": listed.Filter,
			"postFilter": listed.PostFilter, "preScore": listed.PreScore, "score": listed.Score, "reserve": listed.Reserve,
			"permit": listed.Permit, "preBind": listed.PreBind, "bind": listed.Bind, "postBind": listed.PostBind,
		} {
			for _, plugin := range set.Enabled {
				points[point] = append(points[point], fmt.Sprintf("%s(%d)", plugin.Name, plugin.Weight))
			}
		}
		result[config.Profiles[i].SchedulerName] = points
	}
	return result, nil
}

func ourConfiguration(ctx context.Context, data []byte) (resolved, error) {
	config, err := profiles.Parse("config.yaml", data, profiles.Options{})
	if err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	built, err := runtime.NewProfiles(ctx, config, plugins.NewInTreeRegistry(), runtime.Options{
		ClientSet: client, InformerFactory: informers.NewSharedInformerFactory(client, 0), DRAManager: noDevices{},
		Snapshot: cache.NewSnapshot(nil, nil),
	})
	if err != nil {
		return nil, err
	}
	result := resolved{}
	for name, framework := range built {
		points := map[string][]string{}
		for point, listed := range framework.Resolved().Points {
			if strings.HasPrefix(string(point), "placement") || strings.HasPrefix(string(point), "podGroup") {
				continue
			}
			for _, plugin := range listed {
				points[string(point)] = append(points[string(point)], fmt.Sprintf("%s(%d)", plugin.Name, plugin.Weight))
			}
		}
		result[name] = points
	}
	return result, nil
}

// configuration returns a configuration that may be broken: plugins at any point, twice, or unknown.
func (g *generator) configuration() map[string]any {
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"profiles": []any{g.profileOfConfiguration("default-scheduler")},
	}
	if g.oneIn(4) {
		config["profiles"] = append(config["profiles"].([]any), g.profileOfConfiguration(pick(g, "second", "default-scheduler")))
	}
	if g.oneIn(5) {
		config["parallelism"] = pick(g, 0, 1, 16)
	}
	if g.oneIn(5) {
		config["percentageOfNodesToScore"] = pick(g, -1, 0, 50, 101)
	}
	return config
}

func (g *generator) profileOfConfiguration(name string) any {
	sets := map[string]configv1.PluginSet{}
	for range g.IntN(3) {
		point := pick(g, "multiPoint", "score", "filter", "preFilter", "preScore", "bind", "queueSort", "preEnqueue")
		sets[point] = configv1.PluginSet{Enabled: some(g, 2, g.pluginOfConfiguration), Disabled: some(g, 2, func() configv1.Plugin {
			plugin := g.pluginOfConfiguration()
			if g.oneIn(4) {
				plugin.Name = "*"
			}
			plugin.Weight = nil
			return plugin
		})}
	}
	return map[string]any{"schedulerName": name, "plugins": sets}
}

func (g *generator) pluginOfConfiguration() configv1.Plugin {
	plugin := configv1.Plugin{Name: pick(g, "NodeAffinity", "NodeResourcesFit", "TaintToleration", "ImageLocality", "DefaultBinder",
		"PrioritySort", "SchedulingGates", "NodeName", "NodePorts", "PodTopologySpread")}
	if g.oneIn(20) {
		plugin.Name = pick(g, "Unknown", "EBSLimits")
	}
	if g.oneIn(2) {
		plugin.Weight = ptr.To(g.Int32N(20))
	}
	return plugin
}
