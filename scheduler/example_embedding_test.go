// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// Some plugins, asked about the nodes of a cache, without a queue and a loop.
func Example_framework() {
	ctx := context.Background()
	client := fake.NewClientset()
	nodes := cache.New(cache.Options{})
	snapshot := &cache.Snapshot{}
	profile := &profiles.Profile{SchedulerName: "mine", Plugins: configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: []configv1.Plugin{
		{Name: "PrioritySort"}, {Name: "TaintToleration"}, {Name: "NodeName"}, {Name: "NodeUnschedulable"}, {Name: "DefaultBinder"},
	}}}}
	f, err := runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile, runtime.Options{
		Clients:  runtime.Clients{ClientSet: client, InformerFactory: scheduler.NewInformerFactory(client)},
		Snapshot: snapshot,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, node := range []*v1.Node{
		objects.Node("plain").Build(),
		objects.Node("reserved").Taint("team", "a", v1.TaintEffectNoSchedule).Build(),
	} {
		if err := nodes.AddNode(node); err != nil { // and so on, in the handlers of informers
			fmt.Println(err)
		}
	}

	pod, state := objects.Pod("web").Build(), framework.NewCycleState()
	if err := nodes.UpdateSnapshot(snapshot); err != nil {
		fmt.Println(err)
	}
	if _, status, _ := f.RunPreFilterPlugins(ctx, state, pod); !status.IsSuccess() {
		fmt.Println(status)
	}
	infos, err := snapshot.List()
	if err != nil {
		fmt.Println(err)
	}
	for _, info := range infos {
		status := f.RunFilterPlugins(ctx, state, pod, info)
		fmt.Printf("%s: %q\n", info.Node().Name, status.Message()) // nothing is in the way of a pod that fits
	}
	// Output:
	// plain: ""
	// reserved: "node(s) had untolerated taint(s)"
}

// The code of docs/embedding.md is that of examples, which run.
func TestEmbeddingQuotesExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for _, name := range []string{"example_test.go", "example_embedding_test.go", "../queue/example_test.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.WriteString(strings.ReplaceAll(string(source), "\n\t", "\n"))
	}
	quoted := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(quoted) < 3 {
		t.Errorf("the page has %d blocks of Go", len(quoted))
	}
	for _, block := range quoted {
		if !strings.Contains(examples.String(), block[1]) {
			t.Errorf("no example has this block of docs/embedding.md:\n%s", block[1])
		}
	}
}
