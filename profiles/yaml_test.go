// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

func TestYAMLRoundTrip(t *testing.T) {
	tests := map[string]string{
		"defaults":        "",
		"no profiling":    "enableProfiling: false\n",
		"moved plugin":    "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality}, {name: TaintToleration}, {name: Foo}], disabled: [{name: TaintToleration}]}}}]\n",
		"only own":        "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeName}], disabled: [{name: '*'}]}}}]\n",
		"sets at a point": "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 10}], disabled: [{name: '*'}]}}}]\n",
		"raw arguments":   "profiles: [{pluginConfig: [{name: Foo, args: {a: 1, b: {c: [d, 2.5, 12345678901234567]}}}, {name: Bar}]}]\n",
		"own percentage":  "profiles: [{schedulerName: a, percentageOfNodesToScore: 0}, {schedulerName: b, percentageOfNodesToScore: 30}]\n",
		"extender":        "extenders: [{urlPrefix: http://x, filterVerb: f, httpTimeout: 3s, tlsConfig: {insecure: true, caData: YWJj}, managedResources: [{name: a.b/c}]}]\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) { checkRoundTrip(t, mustParse(t, text)) })
	}
	t.Run("Default", func(t *testing.T) { checkRoundTrip(t, Default()) })
}

func TestYAMLRoundTripKeepsOrigins(t *testing.T) {
	config := mustParse(t, "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 9}, {name: Foo}]}}}]\n")
	written, err := config.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("written.yaml", written, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Resolve(implementsInTree, isInTree)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Resolve(implementsInTree, isInTree)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolved plugins (-want +got):\n%s", diff)
	}
}

func TestYAMLContent(t *testing.T) {
	data, err := mustParse(t, "profiles: [{pluginConfig: [{name: Foo}]}]\n").YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"apiVersion: kubescheduler.config.k8s.io/v1\n",
		"  resourceLock: leases\n",
		"  - args: null\n    name: Foo\n",
		"      bindTimeoutSeconds: 600\n",
		"      - name: TaintToleration\n        weight: 3\n",
		"    bind: {}\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the text has no %q:\n%s", want, data)
		}
	}
}

func TestYAMLOfRawYAMLArgs(t *testing.T) {
	config := Default()
	config.Profiles[0].PluginConfig = append(config.Profiles[0].PluginConfig,
		PluginConfig{Name: "Foo", Args: &apiruntime.Unknown{Raw: []byte("a: [1]"), ContentType: apiruntime.ContentTypeYAML}})
	data, err := config.YAML()
	if err != nil || !strings.Contains(string(data), "  - args:\n      a:\n      - 1\n    name: Foo\n") {
		t.Errorf("YAML = %v\n%s", err, data)
	}
	config.Profiles[0].PluginConfig[len(config.Profiles[0].PluginConfig)-1].Args = &apiruntime.Unknown{Raw: []byte("{")}
	if _, err := config.YAML(); err == nil {
		t.Error("YAML of args that are not JSON succeeded")
	}
}
