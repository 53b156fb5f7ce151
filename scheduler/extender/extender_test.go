// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler/extender"
)

func TestNewOrdersExtendersAndIgnoresResources(t *testing.T) {
	configuration := profiles.Default()
	configuration.Extenders = []configv1.Extender{
		{URLPrefix: "http://a", Ignorable: true},
		{URLPrefix: "http://b", ManagedResources: []configv1.ExtenderManagedResource{{Name: "example.com/foo", IgnoredByScheduler: true}, {Name: "example.com/bar"}}},
		{URLPrefix: "http://c", HTTPTimeout: metav1.Duration{Duration: time.Minute}},
	}
	for range 2 { // again changes nothing
		extenders, err := extender.New(configuration)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range extenders {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff([]string{"http://b", "http://c", "http://a"}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if extenders[0].IsIgnorable() || !extenders[2].IsIgnorable() {
			t.Error("it is not told which extender may be ignored")
		}
		var ignored []string
		for _, config := range configuration.Profiles[0].PluginConfig {
			if args, ok := config.Args.(*configv1.NodeResourcesFitArgs); ok {
				ignored = args.IgnoredResources
			}
		}
		if diff := cmp.Diff([]string{"example.com/foo"}, ignored); diff != "" {
			t.Errorf("resources that NodeResourcesFit ignores (-want +got):\n%s", diff)
		}
	}
}

func TestNewWithoutExtenders(t *testing.T) {
	extenders, err := extender.New(profiles.Default())
	if err != nil || len(extenders) > 0 {
		t.Errorf("got %d extenders and error %v, want none", len(extenders), err)
	}
}

func TestNewFails(t *testing.T) {
	configuration := profiles.Default()
	configuration.Extenders = []configv1.Extender{{URLPrefix: "https://a", TLSConfig: &configv1.ExtenderTLSConfig{CAFile: "/nowhere/ca.crt"}}}
	_, err := extender.New(configuration)
	wantError(t, err, "couldn't build extenders", "https://a", "TLS", "/nowhere/ca.crt")

	configuration.Extenders[0].TLSConfig = &configv1.ExtenderTLSConfig{CertData: []byte("no certificate"), KeyData: []byte("no key")}
	_, err = extender.New(configuration)
	wantError(t, err, "https://a", "TLS")

	configuration.Extenders = []configv1.Extender{{ManagedResources: []configv1.ExtenderManagedResource{{Name: "example.com/foo", IgnoredByScheduler: true}}}}
	configuration.Profiles[0].PluginConfig = nil
	_, err = extender.New(configuration)
	wantError(t, err, "couldn't build extenders", "can't find NodeResourcesFitArgs in plugin config")
}

func TestInterest(t *testing.T) {
	list := func(names ...string) v1.ResourceList {
		resources := v1.ResourceList{}
		for _, name := range names {
			resources[v1.ResourceName(name)] = resource.MustParse("1")
		}
		return resources
	}
	pod := func(change func(*v1.PodSpec)) *v1.Pod {
		pod := objects.Pod("p").Build()
		pod.Spec.Containers = []v1.Container{{}, {}}
		pod.Spec.InitContainers = []v1.Container{{}}
		change(&pod.Spec)
		return pod
	}
	tests := []struct {
		name          string
		change        func(*v1.PodSpec)
		manages, want bool
	}{
		{"no managed resources", func(*v1.PodSpec) {}, false, true},
		{"none requested", func(s *v1.PodSpec) { s.Containers[1].Resources.Requests = list("cpu", "example.com/other") }, true, false},
		{"a request", func(s *v1.PodSpec) { s.Containers[1].Resources.Requests = list("cpu", "example.com/foo") }, true, true},
		{"a limit", func(s *v1.PodSpec) { s.Containers[0].Resources.Limits = list("example.com/bar") }, true, true},
		{"a request of an init container", func(s *v1.PodSpec) { s.InitContainers[0].Resources.Requests = list("example.com/foo") }, true, true},
		{"a limit of an init container", func(s *v1.PodSpec) { s.InitContainers[0].Resources.Limits = list("example.com/foo") }, true, true},
		{"none requested, no managed resources", func(s *v1.PodSpec) { s.Containers[1].Resources.Requests = list("cpu") }, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := newExtender(t, "http://a", func(settings *configv1.Extender) {
				if tt.manages {
					settings.ManagedResources = []configv1.ExtenderManagedResource{{Name: "example.com/foo"}, {Name: "example.com/bar"}}
				}
			})
			if got := e.IsInterested(pod(tt.change)); got != tt.want {
				t.Errorf("interested: %v, want %v", got, tt.want)
			}
		})
	}
}
