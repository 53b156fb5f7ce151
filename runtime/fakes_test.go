// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// journal is what happened, in order.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) add(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal) list() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.entries...)
}

// fake is a plugin for every extension point that is run. It does what the test sets, and succeeds at the rest. It has
// neither EnqueueExtensions nor signs pods.
type fake struct {
	name    string
	journal *journal // gets "name.method" for every call; may be nil
	returns map[runtime.Method]*fwk.Status
	panics  map[runtime.Method]any
	does    map[runtime.Method]func(context.Context)

	keeps         sets.Set[string]      // the result of PreFilter; nil keeps all nodes
	noExtensions  bool                  // of PreFilter
	offers        *fwk.PostFilterResult // the result of PostFilter
	score         func(node string) int64
	normalize     func(fwk.NodeScoreList) // nil means no ScoreExtensions, unless something is set for the method
	timeout       time.Duration           // of Permit
	allowParallel bool                    // of PreBind
}

func (f *fake) call(ctx context.Context, method runtime.Method) *fwk.Status {
	if f.journal != nil {
		f.journal.add(f.name + "." + string(method))
	}
	if do := f.does[method]; do != nil {
		do(ctx)
	}
	if value := f.panics[method]; value != nil {
		panic(value)
	}
	return f.returns[method]
}

func (f *fake) Name() string { return f.name }

func (f *fake) PreEnqueue(ctx context.Context, _ *v1.Pod) *fwk.Status {
	return f.call(ctx, runtime.MethodPreEnqueue)
}

func (f *fake) Less(a, b fwk.QueuedEntityInfo) bool {
	f.call(context.Background(), runtime.MethodLess)
	return a.GetPriority() > b.GetPriority()
}

func (f *fake) PreFilter(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	status := f.call(ctx, runtime.MethodPreFilter)
	if f.keeps == nil {
		return nil, status
	}
	return &fwk.PreFilterResult{NodeNames: f.keeps}, status
}

func (f *fake) PreFilterExtensions() fwk.PreFilterExtensions {
	if f.noExtensions {
		return nil
	}
	return f
}

func (f *fake) AddPod(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return f.call(ctx, runtime.MethodAddPod)
}

func (f *fake) RemovePod(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.PodInfo, _ fwk.NodeInfo) *fwk.Status {
	return f.call(ctx, runtime.MethodRemovePod)
}

func (f *fake) Filter(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	return f.call(ctx, runtime.MethodFilter)
}

func (f *fake) PostFilter(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return f.offers, f.call(ctx, runtime.MethodPostFilter)
}

func (f *fake) PreScore(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	return f.call(ctx, runtime.MethodPreScore)
}

func (f *fake) Score(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	status := f.call(ctx, runtime.MethodScore)
	if f.score == nil {
		return 0, status
	}
	return f.score(node.Node().Name), status
}

func (f *fake) ScoreExtensions() fwk.ScoreExtensions {
	if f.normalize == nil && f.returns[runtime.MethodNormalizeScore] == nil && f.panics[runtime.MethodNormalizeScore] == nil {
		return nil
	}
	return f
}

func (f *fake) NormalizeScore(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	if f.normalize != nil {
		f.normalize(scores)
	}
	return f.call(ctx, runtime.MethodNormalizeScore)
}

func (f *fake) Reserve(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	return f.call(ctx, runtime.MethodReserve)
}

func (f *fake) Unreserve(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) {
	f.call(ctx, runtime.MethodUnreserve)
}

func (f *fake) Permit(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	return f.call(ctx, runtime.MethodPermit), f.timeout
}

func (f *fake) PreBindPreFlight(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	status := f.call(ctx, runtime.MethodPreBindPreFlight)
	if !f.allowParallel {
		return nil, status
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, status
}

func (f *fake) PreBind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	return f.call(ctx, runtime.MethodPreBind)
}

func (f *fake) Bind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	return f.call(ctx, runtime.MethodBind)
}

func (f *fake) PostBind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) {
	f.call(ctx, runtime.MethodPostBind)
}

// returning is a fake that returns one status from one method.
func returning(name string, method runtime.Method, code fwk.Code, reasons ...string) *fake {
	return &fake{name: name, returns: map[runtime.Method]*fwk.Status{method: fwk.NewStatus(code, reasons...)}}
}

type sorter struct{}

func (sorter) Name() string                        { return "Sorter" }
func (sorter) Less(a, b fwk.QueuedEntityInfo) bool { return a.GetPriority() > b.GetPriority() }

type binder struct{}

func (binder) Name() string { return "Binder" }
func (binder) Bind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return nil
}

type filterOnly struct{ name string }

func (f filterOnly) Name() string { return f.name }
func (filterOnly) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

type scoreOnly struct {
	name string
	want int64
}

func (s scoreOnly) Name() string { return s.name }
func (s scoreOnly) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return s.want, nil
}
func (scoreOnly) ScoreExtensions() fwk.ScoreExtensions { return nil }

// registryOf returns a registry of ready plugins, with Sorter and Binder.
func registryOf(plugins ...fwk.Plugin) runtime.Registry {
	registry := runtime.Registry{}
	for _, plugin := range append(plugins, sorter{}, binder{}) {
		registry[plugin.Name()] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
			return plugin, nil
		}
	}
	return registry
}

// enabled is a plugin set.
func enabled(names ...string) configv1.PluginSet {
	var set configv1.PluginSet
	for _, name := range names {
		set.Enabled = append(set.Enabled, configv1.Plugin{Name: name})
	}
	return set
}

func weighted(name string, weight int32) configv1.Plugin {
	return configv1.Plugin{Name: name, Weight: ptr.To(weight)}
}

// profileWith is a profile with Sorter and Binder and what set adds.
func profileWith(set func(*configv1.Plugins)) *profiles.Profile {
	profile := &profiles.Profile{SchedulerName: "test-scheduler"}
	profile.Plugins.QueueSort = enabled("Sorter")
	profile.Plugins.Bind = enabled("Binder")
	if set != nil {
		set(&profile.Plugins)
	}
	return profile
}

// build returns a framework of the given plugins at the points that set names.
func build(t testing.TB, options runtime.Options, set func(*configv1.Plugins), plugins ...fwk.Plugin) *runtime.Framework {
	t.Helper()
	f, err := runtime.NewFramework(t.Context(), registryOf(plugins...), profileWith(set), options)
	if err != nil {
		t.Fatalf("NewFramework: %v", err)
	}
	return f
}

// fakes turns a table's fakes into plugins that share a journal, and their names.
func fakes(shared *journal, list []*fake) (plugins []fwk.Plugin, names []string) {
	for _, f := range list {
		f.journal = shared
		plugins = append(plugins, f)
		names = append(names, f.name)
	}
	return plugins, names
}

func newState() *framework.CycleState { return framework.NewCycleState() }

func newNode(name string) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return info
}

func newNodes(names ...string) []fwk.NodeInfo {
	var nodes []fwk.NodeInfo
	for _, name := range names {
		nodes = append(nodes, newNode(name))
	}
	return nodes
}

// result is a status in a form that is easy to compare.
type result struct {
	Code    fwk.Code
	Message string
	Plugin  string
}

func resultOf(status *fwk.Status) result {
	if status == nil {
		return result{}
	}
	return result{Code: status.Code(), Message: withoutLine(status.Message()), Plugin: status.Plugin()}
}

// withoutLine takes the line of a panic, which changes with the tests, off a message.
func withoutLine(message string) string {
	before, line, found := strings.Cut(message, " (at runtime/")
	if found && regexp.MustCompile(`^[a-z_]+_test\.go:\d+\)$`).MatchString(line) {
		return before
	}
	return message
}

// snapshot is a lister of nodes.
type snapshot struct {
	fwk.SharedLister
	fwk.NodeInfoLister
	nodes []fwk.NodeInfo
	err   error
}

func (s *snapshot) NodeInfos() fwk.NodeInfoLister { return s }
func (s *snapshot) List() ([]fwk.NodeInfo, error) { return s.nodes, s.err }

// nominator knows the pods nominated for nodes.
type nominator struct {
	fwk.PodNominator
	byNode map[string][]fwk.PodInfo
}

func (n nominator) NominatedPodsForNode(node string) []fwk.PodInfo { return n.byNode[node] }
