// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "kubescheduler.config.k8s.io/v1", Kind: kind}
}

func cpuAndMemory() []configv1.ResourceSpec {
	return []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
}

// defaultConfigs is the plugin configuration of the default profile.
func defaultConfigs() []PluginConfig {
	return []PluginConfig{
		{Name: "DefaultPreemption", Args: &configv1.DefaultPreemptionArgs{
			TypeMeta: typeMeta("DefaultPreemptionArgs"), MinCandidateNodesPercentage: ptr.To[int32](10), MinCandidateNodesAbsolute: ptr.To[int32](100),
		}},
		{Name: "DynamicResources", Args: &configv1.DynamicResourcesArgs{
			TypeMeta:      typeMeta("DynamicResourcesArgs"),
			FilterTimeout: &metav1.Duration{Duration: 10 * time.Second}, BindingTimeout: &metav1.Duration{Duration: 10 * time.Minute},
		}},
		{Name: "InterPodAffinity", Args: &configv1.InterPodAffinityArgs{
			TypeMeta: typeMeta("InterPodAffinityArgs"), HardPodAffinityWeight: ptr.To[int32](1),
		}},
		{Name: "NodeAffinity", Args: &configv1.NodeAffinityArgs{TypeMeta: typeMeta("NodeAffinityArgs")}},
		{Name: "NodeResourcesBalancedAllocation", Args: &configv1.NodeResourcesBalancedAllocationArgs{
			TypeMeta: typeMeta("NodeResourcesBalancedAllocationArgs"), Resources: cpuAndMemory(),
		}},
		{Name: "NodeResourcesFit", Args: &configv1.NodeResourcesFitArgs{
			TypeMeta:        typeMeta("NodeResourcesFitArgs"),
			ScoringStrategy: &configv1.ScoringStrategy{Type: configv1.LeastAllocated, Resources: cpuAndMemory()},
		}},
		{Name: "PodTopologySpread", Args: &configv1.PodTopologySpreadArgs{
			TypeMeta: typeMeta("PodTopologySpreadArgs"), DefaultingType: configv1.SystemDefaulting,
		}},
		{Name: "VolumeBinding", Args: &configv1.VolumeBindingArgs{
			TypeMeta: typeMeta("VolumeBindingArgs"), BindTimeoutSeconds: ptr.To[int64](600),
			Shape: []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}},
		}},
	}
}

var configOptions = []cmp.Option{cmp.AllowUnexported(PluginConfig{})}

func TestDefaultArgs(t *testing.T) {
	for _, text := range []string{"", "profiles: [{pluginConfig: []}]\n"} {
		got := mustParse(t, text).Profiles[0].PluginConfig
		if diff := cmp.Diff(defaultConfigs(), got, configOptions...); diff != "" {
			t.Errorf("plugin config of %q (-want +got):\n%s", text, diff)
		}
	}
	var kinds []string
	for _, config := range defaultConfigs() {
		kinds = append(kinds, config.Name+"Args")
		if diff := cmp.Diff(config.Args, DefaultArgs(config.Name)); diff != "" {
			t.Errorf("DefaultArgs(%q) (-want +got):\n%s", config.Name, diff)
		}
	}
	if diff := cmp.Diff(kinds, argsKinds()); diff != "" {
		t.Errorf("argsKinds (-want +got):\n%s", diff)
	}
	if got := DefaultArgs("NodeName"); got != nil {
		t.Errorf("DefaultArgs of a plugin without arguments = %v", got)
	}
}

func TestArgsDefaulting(t *testing.T) {
	tests := []struct {
		plugin, args string
		want         apiruntime.Object
	}{
		{"DefaultPreemption", "{minCandidateNodesAbsolute: 0}", &configv1.DefaultPreemptionArgs{
			TypeMeta: typeMeta("DefaultPreemptionArgs"), MinCandidateNodesPercentage: ptr.To[int32](10), MinCandidateNodesAbsolute: ptr.To[int32](0),
		}},
		{"InterPodAffinity", "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}", &configv1.InterPodAffinityArgs{
			TypeMeta: typeMeta("InterPodAffinityArgs"), HardPodAffinityWeight: ptr.To[int32](0), IgnorePreferredTermsOfExistingPods: true,
		}},
		{"NodeResourcesBalancedAllocation", "{resources: [{name: nvidia.com/gpu}]}", &configv1.NodeResourcesBalancedAllocationArgs{
			TypeMeta: typeMeta("NodeResourcesBalancedAllocationArgs"), Resources: []configv1.ResourceSpec{{Name: "nvidia.com/gpu", Weight: 1}},
		}},
		{"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated}}", &configv1.NodeResourcesFitArgs{
			TypeMeta:        typeMeta("NodeResourcesFitArgs"),
			ScoringStrategy: &configv1.ScoringStrategy{Type: configv1.MostAllocated, Resources: cpuAndMemory()},
		}},
		{"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: a.b/c}, {name: cpu, weight: 5}]}}", &configv1.NodeResourcesFitArgs{
			TypeMeta: typeMeta("NodeResourcesFitArgs"),
			ScoringStrategy: &configv1.ScoringStrategy{
				Type: configv1.MostAllocated, Resources: []configv1.ResourceSpec{{Name: "a.b/c", Weight: 1}, {Name: "cpu", Weight: 5}},
			},
		}},
		{"PodTopologySpread", "{defaultingType: List}", &configv1.PodTopologySpreadArgs{
			TypeMeta: typeMeta("PodTopologySpreadArgs"), DefaultingType: configv1.ListDefaulting,
		}},
		{"VolumeBinding", "{bindTimeoutSeconds: 0, shape: [{utilization: 5, score: 5}]}", &configv1.VolumeBindingArgs{
			TypeMeta: typeMeta("VolumeBindingArgs"), BindTimeoutSeconds: ptr.To[int64](0),
			Shape: []configv1.UtilizationShapePoint{{Utilization: 5, Score: 5}},
		}},
		{"DynamicResources", "{filterTimeout: 0s}", &configv1.DynamicResourcesArgs{
			TypeMeta: typeMeta("DynamicResourcesArgs"), FilterTimeout: &metav1.Duration{}, BindingTimeout: &metav1.Duration{Duration: 10 * time.Minute},
		}},
		// Arguments may say what they are, in full or in part.
		{"NodeAffinity", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}", &configv1.NodeAffinityArgs{TypeMeta: typeMeta("NodeAffinityArgs")}},
		{"NodeAffinity", "{kind: NodeAffinityArgs}", &configv1.NodeAffinityArgs{TypeMeta: typeMeta("NodeAffinityArgs")}},
		{"NodeAffinity", "{}", &configv1.NodeAffinityArgs{TypeMeta: typeMeta("NodeAffinityArgs")}},
		{"NodeAffinity", "null", &configv1.NodeAffinityArgs{TypeMeta: typeMeta("NodeAffinityArgs")}},
		// Plugins without a kind get what was written.
		{"Foo", "{a: 1, b: {c: d}}", &apiruntime.Unknown{Raw: []byte(`{"a":1,"b":{"c":"d"}}`), ContentType: "application/json"}},
		{"NodeName", "{a: 1}", &apiruntime.Unknown{Raw: []byte(`{"a":1}`), ContentType: "application/json"}},
		{"Foo", "null", nil},
	}
	for _, test := range tests {
		t.Run(test.plugin+test.args, func(t *testing.T) {
			config := mustParse(t, "profiles: [{pluginConfig: [{name: "+test.plugin+", args: "+test.args+"}]}]\n")
			if diff := cmp.Diff(test.want, config.Profiles[0].PluginConfig[0].Args); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOmittedArgs(t *testing.T) {
	profile := &mustParse(t, "profiles: [{pluginConfig: [{name: Foo}, {name: NodeAffinity}]}]\n").Profiles[0]
	if profile.Args("Foo") != nil {
		t.Errorf("args of Foo = %v, want nil", profile.Args("Foo"))
	}
	if diff := cmp.Diff(DefaultArgs("NodeAffinity"), profile.Args("NodeAffinity")); diff != "" {
		t.Errorf("args of NodeAffinity (-want +got):\n%s", diff)
	}
}

func TestCompletionOrder(t *testing.T) {
	config := mustParse(t, `
profiles:
- plugins:
    multiPoint: {disabled: [{name: "*"}], enabled: [{name: VolumeBinding}, {name: NodeAffinity}, {name: NodeName}]}
    podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}
    score: {enabled: [{name: ImageLocality}], disabled: [{name: InterPodAffinity}]}
  pluginConfig:
  - name: VolumeBinding
  - name: Foo
  - name: PodTopologySpread
`)
	var got []string
	for _, entry := range config.Profiles[0].PluginConfig {
		got = append(got, entry.Name)
	}
	want := []string{"VolumeBinding", "Foo", "PodTopologySpread", "DefaultPreemption", "NodeAffinity"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugin config (-want +got):\n%s", diff)
	}
}

func TestArgsErrors(t *testing.T) {
	tests := []struct {
		name, plugin, args string
		want               []string
	}{
		{"unknown field", "NodeResourcesFit", "{fooBar: 1, ignoredResource: []}", []string{
			`config.yaml:3:60: profiles[0].pluginConfig[0].args.fooBar: unknown field`,
			`config.yaml:3:71: profiles[0].pluginConfig[0].args.ignoredResource: unknown field; did you mean "ignoredResources"?`,
		}},
		{"unknown field deep inside", "NodeResourcesFit", "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, wieght: 2}]}}", []string{
			`config.yaml:3:124: profiles[0].pluginConfig[0].args.scoringStrategy.resources[0].wieght: unknown field; did you mean "weight"?`,
		}},
		{"wrong type", "NodeResourcesFit", "[1]", []string{
			`config.yaml:3:53: profiles[0].pluginConfig[0].args: wrong type: want a mapping, found a list`,
		}},
		{"wrong type inside", "DynamicResources", "{filterTimeout: 5, bindingTimeout: soon}", []string{
			`config.yaml:3:60: profiles[0].pluginConfig[0].args.filterTimeout: wrong type: want a duration such as "15s" or "1m30s", found the number 5`,
			`config.yaml:3:78: profiles[0].pluginConfig[0].args.bindingTimeout: wrong type: want a duration such as "15s" or "1m30s", found the string "soon"`,
		}},
		{"other kind", "NodeResourcesFit", "{kind: InterPodAffinityArgs}", []string{
			`config.yaml:3:60: profiles[0].pluginConfig[0].args.kind: args for plugin NodeResourcesFit were not of type ` +
				`NodeResourcesFitArgs.kubescheduler.config.k8s.io, got InterPodAffinityArgs.kubescheduler.config.k8s.io`,
		}},
		{"unknown kind", "NodeResourcesFit", "{kind: Xs}", []string{
			`config.yaml:3:60: profiles[0].pluginConfig[0].args.kind: decoding args for plugin NodeResourcesFit: no kind "Xs" is registered ` +
				`for version "kubescheduler.config.k8s.io/v1"; write kind: NodeResourcesFitArgs or leave it out`,
		}},
		{"old version", "NodeResourcesFit", "{apiVersion: kubescheduler.config.k8s.io/v1beta2}", []string{
			`config.yaml:3:60: profiles[0].pluginConfig[0].args.apiVersion: decoding args for plugin NodeResourcesFit: no kind "NodeResourcesFitArgs" is ` +
				`registered for version "kubescheduler.config.k8s.io/v1beta2"; write apiVersion: kubescheduler.config.k8s.io/v1 or leave it out`,
		}},
		{"duplicate key in raw args", "Foo", "{a: 1, a: 2}", []string{
			`config.yaml:3:53: profiles[0].pluginConfig[0].args.a: duplicate key: "a" is already set on line 3`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, "profiles: [{pluginConfig: [{name: "+test.plugin+", args: "+test.args+"}]}]\n")
			if diff := cmp.Diff(test.want, lines(err)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// BudgetArgs is the arguments of an out-of-tree plugin, as it writes them.
type BudgetArgs struct {
	metav1.TypeMeta `json:",inline"`
	Limit           *int32 `json:"limit,omitempty"`
}

func (a *BudgetArgs) DeepCopyObject() apiruntime.Object {
	out := *a
	return &out
}

// internalBudgetArgs is what the out-of-tree plugin works with.
type internalBudgetArgs struct {
	metav1.TypeMeta
	Limit int32
}

func (a *internalBudgetArgs) DeepCopyObject() apiruntime.Object {
	out := *a
	return &out
}

func budgetScheme(t *testing.T, internal bool) *apiruntime.Scheme {
	t.Helper()
	scheme := apiruntime.NewScheme()
	kind := configv1.SchemeGroupVersion.WithKind("BudgetArgs")
	scheme.AddKnownTypeWithName(kind, &BudgetArgs{})
	scheme.AddTypeDefaultingFunc(&BudgetArgs{}, func(args any) {
		if a := args.(*BudgetArgs); a.Limit == nil {
			a.Limit = ptr.To[int32](7)
		}
	})
	if !internal {
		return scheme
	}
	internalKind := schema.GroupVersion{Group: kind.Group, Version: apiruntime.APIVersionInternal}.WithKind(kind.Kind)
	scheme.AddKnownTypeWithName(internalKind, &internalBudgetArgs{})
	err := scheme.AddConversionFunc((*BudgetArgs)(nil), (*internalBudgetArgs)(nil), func(a, b any, _ conversion.Scope) error {
		if *a.(*BudgetArgs).Limit < 0 {
			return errors.New("limit is negative")
		}
		b.(*internalBudgetArgs).Limit = *a.(*BudgetArgs).Limit
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestScheme(t *testing.T) {
	const text = fileHeader + "profiles: [{pluginConfig: [{name: Budget, args: {limit: 3}}]}]\n"
	config, err := Parse("config.yaml", []byte(text), Options{Scheme: budgetScheme(t, false)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&BudgetArgs{TypeMeta: typeMeta("BudgetArgs"), Limit: ptr.To[int32](3)}, config.Profiles[0].Args("Budget")); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}

	// With an internal version the plugin gets that, and the file format is written.
	opts := Options{Scheme: budgetScheme(t, true)}
	config, err = Parse("config.yaml", []byte(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := config.Profiles[0].Args("Budget").(*internalBudgetArgs); !ok || got.Limit != 3 {
		t.Errorf("args = %#v, want the internal type with limit 3", config.Profiles[0].Args("Budget"))
	}
	written, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", written, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Profiles, again.Profiles, configOptions...); diff != "" {
		t.Errorf("written and loaded again (-want +got):\n%s", diff)
	}
	if got := Diff(config, again, nil); len(got) > 0 {
		t.Errorf("Diff = %v, want none", got)
	}

	// Enabled plugins without arguments get defaults, like those in the tree.
	config, err = Parse("config.yaml", []byte(fileHeader+"profiles: [{plugins: {filter: {enabled: [{name: Budget}]}}}]\n"), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := config.Profiles[0].Args("Budget").(*internalBudgetArgs); !ok || got.Limit != 7 {
		t.Errorf("default args = %#v, want limit 7", config.Profiles[0].Args("Budget"))
	}
}

func TestSchemeErrors(t *testing.T) {
	const text = fileHeader + "profiles: [{pluginConfig: [{name: Budget, args: {limt: 3}}]}, {schedulerName: b, pluginConfig: [{name: Budget, args: {limit: -3}}]}]\n"
	_, err := Parse("config.yaml", []byte(text), Options{Scheme: budgetScheme(t, true)})
	want := []string{
		`config.yaml:3:50: profiles[0].pluginConfig[0].args.limt: unknown field; did you mean "limit"?`,
		`config.yaml:3:112: profiles[1].pluginConfig[0].args: converting args for plugin Budget to the internal version: limit is negative`,
	}
	if diff := cmp.Diff(want, lines(err)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
