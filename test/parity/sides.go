// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	upstreamcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/devices"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/test/kubescheduler"
)

// discard logs nothing.
var discard = klog.Logger{}

// runner is what both frameworks can do.
type runner interface {
	fwk.Handle
	RunPreFilterPlugins(context.Context, fwk.CycleState, *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string])
	RunPostFilterPlugins(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status)
	RunPreScorePlugins(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) *fwk.Status
	RunScorePlugins(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status)
	SignPod(context.Context, *v1.Pod) fwk.PodSignature
	RunReservePluginsReserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status
	RunReservePluginsUnreserve(context.Context, fwk.CycleState, *v1.Pod, string)
	RunPreBindPreFlights(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status
	RunPreBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status
	RunBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status
}

var (
	_ runner = &runtime.Framework{}
	_ runner = upstream.Framework(nil)
)

// side is one scheduler's framework over one cluster.
type side struct {
	framework runner
	client    *fake.Clientset
	world     world
	devices   fwk.SharedDRAManager
	recorder  *events.FakeRecorder
	newState  func() fwk.CycleState
	lister    fwk.NodeInfoLister
	// plugins are the instances by name.
	plugins map[string]fwk.Plugin
}

// profile is which plugins run, and with which arguments; in addition only what no profile can do without.
type profile struct {
	plugins []configv1.Plugin
	args    map[string]apiruntime.Object // *configv1.<Name>Args, defaulted
}

func (p profile) withRest() []configv1.Plugin {
	return append([]configv1.Plugin{{Name: "PrioritySort"}, {Name: "DefaultBinder"}}, p.plugins...)
}

// capture wraps the factories of a registry to remember what they return.
func capture(into map[string]fwk.Plugin, name string, factory runtime.PluginFactory) runtime.PluginFactory {
	return func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := factory(ctx, args, handle)
		into[name] = plugin
		return plugin, err
	}
}

// ourFactories and theirFactories are the plugins of the two projects. Both take the arguments of the official module.
func ourFactories() runtime.Registry { return plugins.NewInTreeRegistry() }

func theirFactories() runtime.Registry { return kubescheduler.Plugins() }

// ours builds Rouse's framework with its own plugins.
func ours(ctx context.Context, c cluster, p profile) (*side, error) {
	return inOurRuntime(ctx, c, p, ourFactories())
}

// theirs builds kube-scheduler's framework with its own plugins.
func theirs(ctx context.Context, c cluster, p profile) (*side, error) {
	return inTheirRuntime(ctx, c, p, theirFactories())
}

func inOurRuntime(ctx context.Context, c cluster, p profile, factories runtime.Registry) (*side, error) {
	return inOurRuntimeWith(ctx, c, p, factories, devices.Switches{})
}

// inOurRuntimeWith lets features of devices differ from the default; then there is no manager for NodeVolumeLimits.
func inOurRuntimeWith(ctx context.Context, c cluster, p profile, factories runtime.Registry, switches devices.Switches) (*side, error) {
	snapshot := cache.NewSnapshot(c.pods, c.nodes)
	s, err := newSide(c, func() fwk.CycleState { return framework.NewCycleState() }, snapshot)
	if err != nil {
		return nil, err
	}
	var managers runtime.Managers
	if switches == (devices.Switches{}) {
		managers, _, err = plugins.NewManagers(ctx, s.world, nil)
	} else {
		managers.DRA, err = devices.New(ctx, devices.Options{Informers: s.world, Switches: switches})
	}
	if err != nil {
		return nil, err
	}
	managers.PodGroup, s.devices = cache.NoPodGroups{}, managers.DRA
	registry := runtime.Registry{}
	for name, factory := range factories {
		registry[name] = capture(s.plugins, name, factory)
	}
	s.framework, err = runtime.NewFramework(ctx, registry, ourProfile(p), runtime.Options{
		Clients:     runtime.Clients{ClientSet: s.client, InformerFactory: s.world},
		Managers:    managers,
		Recorder:    func(string) events.EventRecorderLogger { return s.recorder },
		Snapshot:    snapshot,
		Parallelism: 1,
	})
	return s, err
}

func inTheirRuntime(ctx context.Context, c cluster, p profile, factories runtime.Registry) (*side, error) {
	return inTheirRuntimeWith(ctx, c, p, factories, func(manager fwk.SharedDRAManager) fwk.SharedDRAManager { return manager })
}

// inTheirRuntimeWith lets the manager of devices be another one.
func inTheirRuntimeWith(
	ctx context.Context, c cluster, p profile, factories runtime.Registry, wrap func(fwk.SharedDRAManager) fwk.SharedDRAManager,
) (*side, error) {
	snapshot, err := theirSnapshot(c)
	if err != nil {
		return nil, err
	}
	s, err := newSide(c, func() fwk.CycleState { return upstream.NewCycleState() }, snapshot)
	if err != nil {
		return nil, err
	}
	if s.devices, err = kubescheduler.NewDRAManager(ctx, s.world); err != nil {
		return nil, err
	}
	s.devices = wrap(s.devices)
	registry := upstreamruntime.Registry{}
	for name, factory := range factories {
		registry[name] = capture(s.plugins, name, factory)
	}
	s.framework, err = upstreamruntime.NewFramework(ctx, registry, theirProfile(p),
		upstreamruntime.WithClientSet(s.client),
		upstreamruntime.WithInformerFactory(s.world),
		upstreamruntime.WithSnapshotSharedLister(snapshot),
		upstreamruntime.WithMutableSnapshotLister(snapshot),
		upstreamruntime.WithParallelism(1),
		upstreamruntime.WithSharedDRAManager(s.devices),
		upstreamruntime.WithEventRecorder(s.recorder),
		upstreamruntime.WithSharedCSIManager(kubescheduler.NewCSIManager(s.world)),
		upstreamruntime.WithPodNominator(noNominations{}),
		upstreamruntime.WithPodGroupManager(cache.NoPodGroups{}),
	)
	return s, err
}

func newSide(c cluster, newState func() fwk.CycleState, snapshot fwk.SharedLister) (*side, error) {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		binding, ok := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		if !ok || !strings.HasSuffix(binding.Name, "1") {
			return ok, binding, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, binding.Name, nil)
	})
	w, err := newWorld(client, c.objects)
	return &side{client: client, recorder: events.NewFakeRecorder(100), world: w, newState: newState, lister: snapshot.NodeInfos(), plugins: map[string]fwk.Plugin{}}, err
}

// ourProfile and theirProfile are a profile as each project has it, both with the arguments of the official module.
func ourProfile(p profile) *profiles.Profile {
	own := profiles.DefaultProfile("default-scheduler")
	own.Plugins = configv1.Plugins{MultiPoint: configv1.PluginSet{Enabled: p.withRest()}}
	own.PluginConfig = nil
	for name, args := range p.args {
		own.PluginConfig = append(own.PluginConfig, profiles.PluginConfig{Name: name, Args: args})
	}
	return own
}

func theirProfile(p profile) *upstreamconfig.KubeSchedulerProfile {
	own := &upstreamconfig.KubeSchedulerProfile{SchedulerName: "default-scheduler", Plugins: &upstreamconfig.Plugins{}}
	for _, plugin := range p.withRest() {
		weight := int32(0)
		if plugin.Weight != nil {
			weight = *plugin.Weight
		}
		own.Plugins.MultiPoint.Enabled = append(own.Plugins.MultiPoint.Enabled, upstreamconfig.Plugin{Name: plugin.Name, Weight: weight})
	}
	for name, args := range p.args {
		own.PluginConfig = append(own.PluginConfig, upstreamconfig.PluginConfig{Name: name, Args: args})
	}
	return own
}

// noNominations is a nominator of a scheduler without nominated pods.
type noNominations struct{ fwk.PodNominator }

func (noNominations) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// theirSnapshot fills a cache as the event handlers would, and takes a snapshot of it.
func theirSnapshot(c cluster) (*upstreamcache.Snapshot, error) {
	over, cancel := context.WithCancel(context.Background())
	cancel() // ends the goroutine that the cache starts to export metrics
	filled := upstreamcache.New(over, nil, false, false)
	for _, node := range c.nodes {
		filled.AddNode(klog.Background(), node)
	}
	for _, pod := range c.pods {
		if err := filled.AddPod(klog.Background(), pod); err != nil {
			return nil, err
		}
	}
	snapshot := upstreamcache.NewEmptySnapshot()
	return snapshot, filled.UpdateSnapshot(klog.Background(), snapshot)
}
