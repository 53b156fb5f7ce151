// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	upstreamfeatures "k8s.io/kubernetes/pkg/features"
	upstreamscheduler "k8s.io/kubernetes/pkg/scheduler"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstreamscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// resolved is what a configuration comes to.
type resolved struct {
	Settings string
	// Points is, by profile and extension point, the plugins in call order, with weights.
	Points map[string]map[string][]string
	// Args are the arguments of plugins by profile and plugin, defaults filled in.
	Args map[string]map[string]apiruntime.Object
}

// TestConfigurationsOfTestData compares the configurations of the test data.
func TestConfigurationsOfTestData(t *testing.T) {
	for _, document := range testDocuments(t) {
		if reason := refusedOnPurpose(document.file); reason != "" {
			if _, err := ourConfiguration(t.Context(), document.data, profiles.Features{}); err == nil {
				t.Errorf("%s: Rouse accepts it, although %s", document.file, reason)
			}
			continue
		}
		if diff, _ := configurationsDiffer(t.Context(), document.data, profiles.Features{}); diff != "" {
			t.Errorf("%s: %s", document.file, diff)
		}
	}
}

type document struct {
	file string
	data []byte
}

func testDocuments(t *testing.T) []document {
	t.Helper()
	var documents []document
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
			documents = append(documents, document{filepath.Base(file), data})
		}
	}
	return documents
}

// refusedOnPurpose returns why Rouse refuses a file of the test data that kube-scheduler takes; empty for all others.
func refusedOnPurpose(file string) string {
	switch file {
	case "two-documents.yaml":
		return "only the first document would count"
	}
	return ""
}

// compareConfigurations compares whether random configurations are accepted, and what they come to: one that is made up,
// with faults here and there, one with random changes to it, and one with few faults.
func (m *machine) compareConfigurations(t round) {
	g := newGenerator(t.seed)
	made := g.configuration()
	for _, config := range []any{made, g.mutated(made), g.soundConfiguration()} {
		diff, done := differenceOf(t.Context(), config, profiles.Features{})
		if diff != "" {
			config = shrink(config, simplerDocuments, func(smaller any) bool {
				diff, _ := differenceOf(t.Context(), smaller, profiles.Features{})
				return diff != ""
			})
			diff, _ = differenceOf(t.Context(), config, profiles.Features{})
			text, _ := yaml.Marshal(config)
			t.mismatch("%s\n%s", diff, text)
		}
		m.add(done)
	}
	for _, config := range []any{g.soundConfiguration(), map[string]any{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}} {
		text, err := yaml.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		odd := g.withOddities(pick(g, string(text), string(text), flowOf(config)))
		if refusedForm(odd) {
			continue
		}
		diff, done := configurationsDiffer(t.Context(), []byte(odd), profiles.Features{})
		if diff != "" {
			t.mismatch("%s\n%q", diff, odd)
		}
		m.add(done)
	}
}

// TestArgsOfDynamicResources compares which timeouts are accepted, and what they come to.
func TestArgsOfDynamicResources(t *testing.T) {
	refused := 0
	for _, filter := range []string{"", "0s", "1ns", "10s", "-1ns", "-1s", "long", "5"} {
		for _, binding := range []string{"", "0s", "999ms", "1s", "10m", "-1s", "long", "600"} {
			args := map[string]any{}
			if filter != "" {
				args["filterTimeout"] = filter
			}
			if binding != "" {
				args["bindingTimeout"] = binding
			}
			diff, done := differenceOf(t.Context(), map[string]any{
				"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": []any{map[string]any{
					"pluginConfig": []any{map[string]any{"name": dynamicResources, "args": args}},
				}},
			}, profiles.Features{})
			if diff != "" {
				t.Errorf("%v: %s", args, diff)
			}
			refused += done[kind{"configuration: refused", ""}]
		}
	}
	if want := 64 - 4*3; refused != want {
		t.Errorf("%d of 64 are refused, want %d", refused, want)
	}
}

// TestConfigurationsWithGatesOff compares what is accepted, and what it comes to, with each set of the feature gates off
// that settings depend on.
func TestConfigurationsWithGatesOff(t *testing.T) {
	settings := readSettings(t)
	for set := range 8 {
		off := profiles.Features{NoStorageCapacityScoring: set&1 != 0, NoFilterTimeout: set&2 != 0, NoBindingConditions: set&4 != 0}
		t.Run(fmt.Sprintf("%+v", off), func(t *testing.T) {
			for gate, isOff := range map[featuregate.Feature]bool{
				upstreamfeatures.StorageCapacityScoring:     off.NoStorageCapacityScoring,
				upstreamfeatures.DRASchedulerFilterTimeout:  off.NoFilterTimeout,
				upstreamfeatures.DRADeviceBindingConditions: off.NoBindingConditions,
			} {
				featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, gate, !isOff)
			}
			accepted, refused := 0, 0
			for i := range max(settings.rounds/8, 25) {
				g := newGenerator(settings.roundSeed(i))
				config := map[string]any{
					"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
					"profiles": []any{map[string]any{"pluginConfig": some(g, 3, g.switchedArgs)}},
				}
				diff, done := differenceOf(t.Context(), config, off)
				if diff != "" {
					text, _ := yaml.Marshal(config)
					t.Fatalf("SEED=%d N=1: %s\n%s", settings.roundSeed(i), diff, text)
				}
				accepted, refused = accepted+done[kind{"configuration: accepted", ""}], refused+done[kind{"configuration: refused", ""}]
			}
			if accepted == 0 || refused == 0 {
				t.Errorf("%d configurations are accepted, %d refused", accepted, refused)
			}
		})
	}
}

// flowOf returns a configuration in braces.
func flowOf(config any) string {
	text, err := json.Marshal(config)
	if err != nil {
		return ""
	}
	if len(text)%2 == 0 {
		return string(text) + "\n"
	}
	return strings.ReplaceAll(string(text), `"apiVersion":`, "apiVersion: ") + "\n"
}

// refusedForm reports whether Rouse refuses a text on purpose that kube-scheduler takes: it looks at a second document,
// and at bytes that no YAML has, after the end of the first one.
func refusedForm(text string) bool { return strings.Contains(text, "\x00") }

func differenceOf(ctx context.Context, config any, features profiles.Features) (diff string, done counts) {
	text, err := yaml.Marshal(config)
	if err != nil {
		return "", nil
	}
	return configurationsDiffer(ctx, text, features)
}

func configurationsDiffer(ctx context.Context, data []byte, features profiles.Features) (diff string, done counts) {
	want, theirErr := theirConfiguration(ctx, data)
	got, ourErr := ourConfiguration(ctx, data, features)
	if theirErr == nil && ourErr != nil && strings.Contains(ourErr.Error(), ".args.") && builtWithoutFit(want) {
		return "", nil // differs on purpose: arguments of a plugin that is not used are checked, too
	}
	if theirErr == nil && ourErr != nil && strings.Contains(ourErr.Error(), ".args.ignoredResources") &&
		bytes.Contains(data, []byte("ignoredByScheduler: true")) {
		return "", nil // and so are those that the resources of an extender take the place of
	}
	if (theirErr == nil) != (ourErr == nil) {
		return fmt.Sprintf("kube-scheduler: %v\nRouse: %v", theirErr, ourErr), nil
	}
	if theirErr == nil {
		if diff := writtenDiffers(ctx, data, features, want, got); diff != "" {
			return diff, nil
		}
	}
	if theirErr != nil {
		return "", counts{{"configuration: refused", ""}: 1}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "what the configuration comes to (-kube-scheduler +rouse):\n" + diff, nil
	}
	done = counts{{"configuration: accepted", ""}: 1}
	for profile := range want.Points {
		done[kind{"configuration: extension point", ""}] += len(want.Points[profile])
		done[kind{"configuration: arguments", ""}] += len(want.Args[profile])
	}
	return "", done
}

// writtenDiffers compares what a configuration comes to with what both schedulers make of it as Rouse writes it, which is
// what profiles show -o config prints. An empty list and none are the same.
func writtenDiffers(ctx context.Context, data []byte, features profiles.Features, theirs, ours *resolved) string {
	config, err := profiles.Parse("config.yaml", data, profiles.Options{Features: features})
	if err != nil {
		return err.Error()
	}
	written, err := config.YAML()
	if err != nil {
		return err.Error()
	}
	for _, side := range []struct {
		name string
		load func(context.Context, []byte) (*resolved, error)
		want *resolved
	}{
		{"kube-scheduler", theirConfiguration, theirs},
		{"Rouse", func(ctx context.Context, data []byte) (*resolved, error) {
			return ourConfiguration(ctx, data, features)
		}, ours},
	} {
		again, err := side.load(ctx, written)
		if err != nil {
			return fmt.Sprintf("%s does not load what Rouse wrote: %v\n%s", side.name, err, written)
		}
		if diff := cmp.Diff(side.want, again, cmpopts.EquateEmpty()); diff != "" {
			return "what the configuration comes to in " + side.name + " after Rouse wrote it (-before +after):\n" + diff
		}
	}
	return ""
}

// builtWithoutFit reports whether a profile does without NodeResourcesFit, whose arguments kube-scheduler checks when it
// builds it.
func builtWithoutFit(config *resolved) bool {
	for _, points := range config.Points {
		if !strings.Contains(fmt.Sprint(points), "NodeResourcesFit") {
			return true
		}
	}
	return false
}

func noEvents(string) events.EventRecorderLogger { return noRecorder{} }

// noRecorder records nothing.
type noRecorder struct{}

func (noRecorder) Eventf(apiruntime.Object, apiruntime.Object, string, string, string, string, ...any) {
}

func (n noRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return n }

func theirConfiguration(ctx context.Context, data []byte) (*resolved, error) {
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
	client := fake.NewClientset()
	built, err := upstreamscheduler.New(ctx, client, informers.NewSharedInformerFactory(client, 0), nil, noEvents,
		upstreamscheduler.WithComponentConfigVersion(config.APIVersion), upstreamscheduler.WithProfiles(config.Profiles...),
		upstreamscheduler.WithExtenders(config.Extenders...), upstreamscheduler.WithParallelism(config.Parallelism))
	if err != nil {
		return nil, err
	}
	result := &resolved{Points: map[string]map[string][]string{}, Args: map[string]map[string]apiruntime.Object{}}
	result.Settings = fmt.Sprint(config.Parallelism, *config.PercentageOfNodesToScore, config.PodInitialBackoffSeconds, config.PodMaxBackoffSeconds,
		config.DelayCacheUntilActive, config.LeaderElection, config.ClientConnection, config.EnableProfiling, config.EnableContentionProfiling)
	for _, profile := range config.Profiles {
		result.Settings += fmt.Sprintf(" %s %d", profile.SchedulerName, ptr.Deref(profile.PercentageOfNodesToScore, -1))
		args := map[string]apiruntime.Object{}
		for _, own := range profile.PluginConfig {
			args[own.Name] = own.Args
		}
		result.Args[profile.SchedulerName] = args
		points := map[string][]string{}
		listed := built.Profiles[profile.SchedulerName].ListPlugins()
		for point, set := range map[string]upstreamconfig.PluginSet{
			"preEnqueue": listed.PreEnqueue, "queueSort": listed.QueueSort, "preFilter": listed.PreFilter, "filter": listed.Filter,
			"postFilter": listed.PostFilter, "preScore": listed.PreScore, "score": listed.Score, "reserve": listed.Reserve,
			"permit": listed.Permit, "preBind": listed.PreBind, "bind": listed.Bind, "postBind": listed.PostBind,
		} {
			for _, plugin := range set.Enabled {
				points[point] = append(points[point], fmt.Sprintf("%s(%d)", plugin.Name, plugin.Weight))
			}
		}
		result.Points[profile.SchedulerName] = points
	}
	return result, nil
}

func ourConfiguration(ctx context.Context, data []byte, features profiles.Features) (*resolved, error) {
	config, err := profiles.Parse("config.yaml", data, profiles.Options{Features: features})
	if err != nil {
		return nil, err
	}
	for i := range config.Extenders {
		if err := extender.CheckTLS(&config.Extenders[i]); err != nil {
			return nil, err
		}
	}
	client := fake.NewClientset()
	registry := plugins.NewInTreeRegistry()
	if features.NoStorageCapacityScoring {
		registry[volumebinding.Name] = volumebinding.NewWithoutScoring
	}
	built, err := runtime.NewProfiles(ctx, config, registry, runtime.Options{
		Clients:  runtime.Clients{ClientSet: client, InformerFactory: informers.NewSharedInformerFactory(client, 0)},
		Managers: runtime.Managers{DRA: noDevices{}},
		Snapshot: cache.NewSnapshot(nil, nil),
	})
	if err != nil {
		return nil, err
	}
	result := &resolved{Points: map[string]map[string][]string{}, Args: map[string]map[string]apiruntime.Object{}}
	if _, err := config.ApplyExtenders(); err != nil {
		return nil, err
	}
	result.Settings = fmt.Sprint(config.Parallelism, config.PercentageOfNodesToScore, config.PodInitialBackoffSeconds, config.PodMaxBackoffSeconds,
		config.DelayCacheUntilActive, config.LeaderElection, config.ClientConnection, config.EnableProfiling, config.EnableContentionProfiling)
	for _, profile := range config.Profiles {
		result.Settings += fmt.Sprintf(" %s %d", profile.SchedulerName, ptr.Deref(profile.PercentageOfNodesToScore, -1))
		args := map[string]apiruntime.Object{}
		for _, own := range profile.PluginConfig {
			args[own.Name] = own.Args
			if own.Args == nil {
				continue
			}
			if converted, err := kubescheduler.Arguments(own.Args); err == nil {
				args[own.Name] = converted
			}
		}
		result.Args[profile.SchedulerName] = args
	}
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
		result.Points[name] = points
	}
	return result, nil
}
