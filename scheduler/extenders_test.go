// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
)

// extender is an extender that does what a test says. It does what is not nil.
type extender struct {
	name      string
	filter    func(node string) verdictOfExtender
	scores    map[string]int64
	weight    int64
	bind      func(*v1.Binding) error
	ignores   func(*v1.Pod) bool
	ignorable bool
	err       error // of Filter and Prioritize
	// saw has the nodes that it was asked about.
	saw []string
}

var _ fwk.Extender = &extender{}

// verdictOfExtender is what an extender says of a node.
type verdictOfExtender struct{ kept, failed, unresolvable bool }

// keep makes a filter that keeps all nodes but some, which fail.
func keep(except ...string) func(string) verdictOfExtender {
	return func(node string) verdictOfExtender {
		fails := slices.Contains(except, node)
		return verdictOfExtender{kept: !fails, failed: fails}
	}
}

func (e *extender) Name() string        { return e.name }
func (e *extender) IsFilter() bool      { return e.filter != nil }
func (e *extender) IsPrioritizer() bool { return e.scores != nil }
func (e *extender) IsBinder() bool      { return e.bind != nil }
func (e *extender) IsIgnorable() bool   { return e.ignorable }

func (e *extender) IsInterested(pod *v1.Pod) bool { return e.ignores == nil || !e.ignores(pod) }

func (e *extender) SupportsPreemption() bool { return false }

func (e *extender) ProcessPreemption(_ *v1.Pod, victims map[string]*extenderv1.Victims, _ fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	return victims, nil
}

func (e *extender) Filter(_ *v1.Pod, nodes []fwk.NodeInfo) (kept []fwk.NodeInfo, failed, unresolvable extenderv1.FailedNodesMap, err error) {
	if e.filter == nil {
		return nodes, nil, nil, nil
	}
	if e.err != nil {
		return nil, nil, nil, e.err
	}
	failed, unresolvable = extenderv1.FailedNodesMap{}, extenderv1.FailedNodesMap{}
	for _, node := range nodes {
		name := node.Node().Name
		e.saw = append(e.saw, name)
		verdict := e.filter(name)
		if verdict.kept {
			kept = append(kept, node)
		}
		if verdict.failed {
			failed[name] = e.name + " says no"
		}
		if verdict.unresolvable {
			unresolvable[name] = e.name + " says never"
		}
	}
	return kept, failed, unresolvable, nil
}

func (e *extender) Prioritize(*v1.Pod, []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	if e.err != nil {
		return nil, 0, e.err
	}
	var list extenderv1.HostPriorityList
	for node, score := range e.scores {
		list = append(list, extenderv1.HostPriority{Host: node, Score: score})
	}
	return &list, e.weight, nil
}

func (e *extender) Bind(binding *v1.Binding) error { return e.bind(binding) }

// withExtenders is bare with extenders.
func withExtenders(extenders ...*extender) func(*Options) {
	return func(options *Options) {
		bare(options)
		for _, extender := range extenders {
			options.Extenders = append(options.Extenders, extender)
		}
	}
}

func TestExtendersFilter(t *testing.T) {
	broken := errors.New("down")
	never := func(string) verdictOfExtender { return verdictOfExtender{failed: true, unresolvable: true} }
	tests := []struct {
		name      string
		extenders []*extender
		// want is the node, or the event of the failure.
		want      string
		pool      queue.Pool
		rejectors []string
		saw       [][]string
	}{
		{
			name:      "one after the other",
			extenders: []*extender{{name: "E1", filter: keep("n1")}, {name: "E2", filter: keep("n3")}},
			want:      "n2", saw: [][]string{{"n1", "n2", "n3"}, {"n2", "n3"}},
		},
		{
			name:      "nothing is left",
			extenders: []*extender{{name: "E1", filter: keep("n1", "n2", "n3")}, {name: "E2", filter: keep()}},
			want:      "0/3 nodes are available: 3 E1 says no.", pool: queue.PoolUnschedulable,
			rejectors: []string{"Extender"}, saw: [][]string{{"n1", "n2", "n3"}, nil},
		},
		{
			name:      "for good counts more than for now",
			extenders: []*extender{{name: "E1", filter: never}},
			want:      "0/3 nodes are available: 3 E1 says never.", pool: queue.PoolUnschedulable, rejectors: []string{"Extender"},
			saw: [][]string{{"n1", "n2", "n3"}},
		},
		{
			name:      "without a word about the nodes",
			extenders: []*extender{{name: "E1", filter: func(string) verdictOfExtender { return verdictOfExtender{} }}},
			want:      "0/3 nodes are available:", pool: queue.PoolUnschedulable, rejectors: []string{"Extender"},
			saw: [][]string{{"n1", "n2", "n3"}},
		},
		{
			name:      "one is not interested",
			extenders: []*extender{{name: "E1", filter: never, ignores: func(*v1.Pod) bool { return true }}, {name: "E2", filter: keep("n1", "n2")}},
			want:      "n3", saw: [][]string{nil, {"n1", "n2", "n3"}},
		},
		{
			name:      "one fails that may be ignored",
			extenders: []*extender{{name: "E1", filter: never, ignorable: true, err: broken}, {name: "E2", filter: keep("n1", "n2")}},
			want:      "n3", saw: [][]string{nil, {"n1", "n2", "n3"}},
		},
		{
			name:      "one fails that may not",
			extenders: []*extender{{name: "E1", filter: never, err: broken}, {name: "E2", filter: keep("n1", "n2")}},
			want:      "asking extender E1: down", pool: queue.PoolBackoff, saw: [][]string{nil, nil},
		},
		{
			name:      "one does not filter",
			extenders: []*extender{{name: "E1", scores: map[string]int64{"n2": 10}, weight: 1}},
			want:      "n2", saw: [][]string{nil},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, extender := range test.extenders {
				extender.saw = nil
			}
			f := newFixtureWith(t, withExtenders(test.extenders...))
			f.addNodes("n1", "n2", "n3")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			var saw [][]string
			for _, extender := range test.extenders {
				saw = append(saw, extender.saw)
			}
			if diff := cmp.Diff(test.saw, saw); diff != "" {
				t.Errorf("nodes that the extenders were asked about (-want +got):\n%s", diff)
			}
			f.wantPool("a", test.pool)
			if test.pool == queue.PoolNone {
				if got := f.seen.bound["a"]; got != test.want {
					t.Errorf("bound to %q, want %s", got, test.want)
				}
				return
			}
			if got, want := f.event(), "Warning FailedScheduling "+test.want; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
			if diff := cmp.Diff(test.rejectors, f.rejectors("a"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rejectors (-want +got):\n%s", diff)
			}
		})
	}
}

// What plugins said about other nodes must stay, and PostFilter must be able to tell the verdicts apart.
func TestVerdictsOfPluginsAndExtendersAreKeptSideBySide(t *testing.T) {
	codes := map[string]fwk.Code{}
	f := newFixtureWith(t, withExtenders(&extender{name: "E", filter: func(node string) verdictOfExtender {
		return verdictOfExtender{failed: node == "n2", unresolvable: node == "n3"}
	}}), filters(func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		if node.Node().Name == "n1" {
			return fwk.NewStatus(fwk.Unschedulable, "full")
		}
		return nil
	}), makesRoom(func(statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
		for _, node := range []string{"n1", "n2", "n3"} {
			codes[node] = statuses.Get(node).Code()
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}))
	f.addNodes("n1", "n2", "n3")
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	const want = "Warning FailedScheduling 0/3 nodes are available: 1 E says never, 1 E says no, 1 full."
	if got := f.event(); got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	wantCodes := map[string]fwk.Code{"n1": fwk.Unschedulable, "n2": fwk.Unschedulable, "n3": fwk.UnschedulableAndUnresolvable}
	if diff := cmp.Diff(wantCodes, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Extender", "Filters"}, f.rejectors("a")); diff != "" {
		t.Errorf("rejectors (-want +got):\n%s", diff)
	}
}

func TestAnyEventWakesPodsThatExtendersRejected(t *testing.T) {
	events := map[string]func(f *fixture){
		"a node changes": func(f *fixture) {
			f.nodeUpdated(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build(), objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").With(func(n *v1.Node) { n.Labels["x"] = "y" }).Build())
		},
		"a pod is placed": func(f *fixture) { f.podAdded(objects.Pod("other").Requests("cpu", "1").Node("n1").Build()) },
	}
	for name, happen := range events {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, withExtenders(&extender{name: "E", filter: keep("n1")}))
			f.addNodes("n1")
			f.park(objects.Pod("a").Requests("cpu", "1").Build())
			happen(f)
			f.wantPool("a", queue.PoolBackoff)
		})
	}
}

func TestExtendersAreAskedAboutTheNominatedNodeFirst(t *testing.T) {
	tests := []struct {
		name   string
		except []string
		saw    []string
		want   string
	}{
		{"they keep it", nil, []string{"n2"}, "n2"},
		{"they do not", []string{"n2", "n3"}, []string{"n2", "n1", "n2", "n3"}, "n1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := &extender{name: "E", filter: keep(test.except...)}
			f := newFixtureWith(t, withExtenders(asked))
			f.addNodes("n1", "n2", "n3")
			f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode("n2").Build())
			f.attempt()
			if diff := cmp.Diff(test.saw, asked.saw); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if got := f.seen.bound["a"]; got != test.want {
				t.Errorf("bound to %q, want %s", got, test.want)
			}
		})
	}
}

func TestExtendersBind(t *testing.T) {
	broken := func(*v1.Binding) error { return errors.New("down") }
	never := func(*v1.Pod) bool { return true }
	tests := []struct {
		name      string
		extenders []*extender
		byPlugin  bool
		failure   string
	}{
		{name: "instead of the plugins", extenders: []*extender{{name: "E1"}}},
		{name: "not if they are not interested", extenders: []*extender{{name: "E1", ignores: never}}, byPlugin: true},
		{name: "and fail", extenders: []*extender{{name: "E1", bind: broken}, {name: "E2"}}, failure: "binding pod default/a to node n1 through extender E1: down"},
		{name: "and fail, which may be ignored: the next", extenders: []*extender{{name: "E1", bind: broken, ignorable: true}, {name: "E2"}}},
		{name: "and fail, which may be ignored: the plugins", extenders: []*extender{{name: "E1", bind: broken, ignorable: true}}, byPlugin: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var bindings []v1.Binding
			for _, extender := range test.extenders {
				if extender.bind == nil {
					extender.bind = func(binding *v1.Binding) error {
						bindings = append(bindings, *binding)
						return nil
					}
				}
			}
			f := newFixtureWith(t, withExtenders(test.extenders...))
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if byPlugin := slices.Contains(f.writes(), "create pods/binding"); byPlugin != test.byPlugin {
				t.Errorf("the plugins bound the pod: %v, want %v", byPlugin, test.byPlugin)
			}
			if test.failure != "" {
				f.wantPool("a", queue.PoolBackoff)
				if got, want := f.event(), "Warning FailedScheduling "+test.failure; got != want {
					t.Errorf("event %q, want %q", got, want)
				}
				return
			}
			if got, want := f.event(), "Normal Scheduled Successfully assigned default/a to n1"; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
			if test.byPlugin {
				return
			}
			want := []v1.Binding{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "default/a"},
				Target:     v1.ObjectReference{Kind: "Node", Name: "n1"},
			}}
			if diff := cmp.Diff(want, bindings); diff != "" {
				t.Errorf("bindings (-want +got):\n%s", diff)
			}
		})
	}
}

// atOnce is an extender that gives a score once as many extenders have been asked as there are, and keeps the contexts
// that it is given.
type atOnce struct {
	*extender
	asked *sync.WaitGroup
	seen  *[]context.Context
	ctx   context.Context
}

func (e atOnce) WithContext(ctx context.Context) fwk.Extender {
	*e.seen = append(*e.seen, ctx)
	e.ctx = ctx
	return e
}

func (e atOnce) Prioritize(pod *v1.Pod, nodes []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	e.asked.Done()
	e.asked.Wait()
	return e.extender.Prioritize(pod, nodes)
}

func (e atOnce) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, extenderv1.FailedNodesMap, extenderv1.FailedNodesMap, error) {
	if e.ctx == nil {
		return nil, nil, nil, errors.New("there is no context")
	}
	return e.extender.Filter(pod, nodes)
}

func TestExtendersScoreAtTheSameTime(t *testing.T) {
	var asked sync.WaitGroup
	asked.Add(2)
	scores := func(n1, n2 int64, weight int64) *extender {
		return &extender{name: "E", filter: keep(), scores: map[string]int64{"n1": n1, "n2": n2, "unknown": 10}, weight: weight}
	}
	var seen [2][]context.Context
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		options.Extenders = []fwk.Extender{
			atOnce{extender: scores(10, 1, 1), asked: &asked, seen: &seen[0]}, atOnce{extender: scores(1, 6, 2), asked: &asked, seen: &seen[1]},
		}
	})
	f.addNodes("n1", "n2")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if got := f.seen.bound["a"]; got != "n2" { // 1 + 12 against 10 + 2
		t.Errorf("bound to %q, want n2", got)
	}
	for _, contexts := range seen {
		if len(contexts) != 2 || contexts[0].Err() == nil {
			t.Errorf("got %d contexts, want those of two calls, which end with the cycle", len(contexts))
		}
	}
}

// An extender that fails because the scheduler ends must not be taken for one that may be ignored.
func TestIgnorableExtenderIsCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ending := &extender{name: "E", ignorable: true, err: context.Canceled, filter: keep()}
	ending.ignores = func(*v1.Pod) bool {
		cancel()
		return false
	}
	f := newFixtureWith(t, withExtenders(ending))
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.TryScheduleOne(ctx)
	f.runTasks()
	if len(f.seen.bound) > 0 || len(f.seen.failures) != 1 {
		t.Fatalf("bound %v, failures %v; want none, one", f.seen.bound, f.seen.failures)
	}
	// Other calls fail, too, once the context has ended; this one must not have been passed over.
	if got := f.seen.failures[0].Status.Message(); !strings.HasPrefix(got, "asking extender E") {
		t.Errorf("the attempt failed with %q, want the error of the extender", got)
	}
}

func TestExtendersOfTheConfigurationMustBeGiven(t *testing.T) {
	client := fake.NewClientset()
	configuration := profiles.Default()
	configuration.Extenders = []configv1.Extender{{URLPrefix: "http://example.com", FilterVerb: "filter"}}
	options := Options{Client: client, Informers: NewInformerFactory(client), Configuration: configuration}
	if _, err := New(t.Context(), options); err == nil {
		t.Error("New succeeded with an extender that is never called")
	}
	options.Extenders = []fwk.Extender{&extender{name: "http://example.com", filter: keep()}}
	if _, err := New(t.Context(), options); err != nil {
		t.Errorf("New failed with the extender: %v", err)
	}
}
