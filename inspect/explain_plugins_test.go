// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

// explained is a cluster with an explainer for the pod default/web, and one for all pods.
type explained struct {
	*simulate.Cluster
	explainer *inspect.Explainer
	live      *inspect.LiveExplainer
}

func explainedCluster(t *testing.T, options simulate.Options) *explained {
	t.Helper()
	explainer := inspect.NewExplainer(t.Context(), "default", "web")
	explainer.Observe(&options)
	live := inspect.NewLiveExplainer(t.Context())
	both := scheduler.Options{Observers: options.Observers}
	live.Observe(&both)
	options.Observers = both.Observers
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	explainer.Watch(cluster)
	live.Watch(cluster.Scheduler())
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	return &explained{cluster, explainer, live}
}

// replay plays a text, to its end.
func (e *explained) replay(t *testing.T, text string) {
	t.Helper()
	input, err := simulate.Parse("input.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Replay(input); err != nil {
		t.Fatal(err)
	}
}

// explain returns what the explainer of the pod says, which the other must agree with.
func (e *explained) explain(t *testing.T, nodes int) *inspect.Explanation {
	t.Helper()
	explanation, err := e.explainer.Explain(nodes)
	if err != nil {
		t.Fatal(err)
	}
	e.compareLive(t, explanation, nodes)
	return explanation
}

// compareLive compares all but times, and what is not known of a pod that did not wait when it was asked for.
func (e *explained) compareLive(t *testing.T, want *inspect.Explanation, nodes int) {
	t.Helper()
	got, err := e.live.Explain(t.Context(), "default", "web", nodes)
	if want.Pool == simulate.PoolDeleted {
		if missing := new(inspect.NoSuchPodError); !errors.As(err, &missing) {
			t.Errorf("the explainer of all pods knows one that is gone: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	ignored := []string{"At", "Since", "TriedAgainAt", "RejectedAt", "RecentEvents", "RecentEventsSince", "WokenBy", "Message"}
	if want.Pool == simulate.PoolBound {
		ignored = append(ignored, "Attempts")
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(inspect.Explanation{}, ignored...)); diff != "" {
		t.Errorf("the explainer of all pods says something else (-the one for the pod +the other):\n%s", diff)
	}
	if want.Pool != simulate.PoolBound && !strings.Contains(got.Message, want.Message) {
		t.Errorf("the message is %q, want %q", got.Message, want.Message)
	}
}

// blocked is a pod that one plugin rejects.
type blocked struct {
	cluster string
	// gated tells that the plugin does so before the pod is tried.
	gated bool
	// details is what is in the way on the closest node.
	details []string
	// remedy makes the event happen that takes it out of the way.
	remedy, event string
}

func volumeOf(claim string) string {
	return ", volumes: [{name: data, persistentVolumeClaim: {claimName: " + claim + "}}]"
}

// boundClaim is a claim with its volume; more is added to the metadata and the spec of the volume.
func boundClaim(name, mode, metadata, spec string) string {
	return documents(
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: "+name+", namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}, "+
			"spec: {storageClassName: fast, volumeName: pv-"+name+", accessModes: ["+mode+"], resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}",
		"{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-"+name+metadata+"}, spec: {storageClassName: fast, capacity: {storage: 1Gi}, accessModes: ["+mode+"], "+
			"claimRef: {namespace: default, name: "+name+"}, csi: {driver: csi.example.com, volumeHandle: "+name+"}"+spec+"}, status: {phase: Bound}}",
	)
}

// blockedBy has a pod for every plugin of the default profile that can reject a waiting one.
func blockedBy() map[string]blocked {
	const zone = "topology.kubernetes.io/zone"
	cards := "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 3, example.com/card: 2}}}"
	asks := func(requests string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {containers: [{name: c, image: i, resources: {requests: " + requests + ", limits: " + requests + "}}]}}"
	}
	port := func(name, rest string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default}, spec: {containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 8080}]}]" + rest + "}}"
	}
	labelled := func(name, app, rest string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: default, labels: {app: " + app + "}}, spec: {containers: [{name: c, image: i}]" + rest + "}}"
	}
	step := func(action string) string { return scenario("{" + action + "}") }
	patch := func(patch string) string {
		return step("patch: {apiVersion: v1, kind: Node, metadata: {name: n1}, " + patch + "}")
	}
	label := func(label string) string {
		return step("patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {" + label + "}}}")
	}
	remove := func(pod string) string {
		return step("delete: {apiVersion: v1, kind: Pod, metadata: {name: " + pod + "}}")
	}
	east, west := node("n1", ", labels: {"+zone+": east}"), node("n1", ", labels: {"+zone+": west}")
	return map[string]blocked{
		"SchedulingGates": {
			cluster: documents(node("n1", ""), pod("web", "1", ", schedulingGates: [{name: example.com/quota}]")), gated: true,
			remedy: step("patch: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {schedulingGates: [{name: example.com/quota, $patch: delete}]}}"),
			event:  "TargetPodUpdatePodSchedulingGatesEliminated",
		},
		"NodeUnschedulable": {
			cluster: documents("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {unschedulable: true}, status: {allocatable: {cpu: 4, pods: 9}}}", pod("web", "1", "")),
			details: []string{"the node is cordoned (spec.unschedulable)"},
			remedy:  patch("spec: {unschedulable: false}"), event: "NodeUpdateNodeTaint",
		},
		"TaintToleration": {
			cluster: documents("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: a, value: b, effect: NoSchedule}, {key: nice, effect: PreferNoSchedule}, {key: c, effect: NoExecute}]}, status: {allocatable: {cpu: 4, pods: 9}}}",
				pod("web", "1", "")),
			details: []string{"taint a=b:NoSchedule is not tolerated", "taint c:NoExecute is not tolerated"},
			remedy:  patch("spec: {taints: null}"), event: "NodeUpdateNodeTaint",
		},
		"NodeAffinity": {
			cluster: documents(node("n1", ", labels: {disk: hdd}"), pod("web", "1", ", nodeSelector: {disk: ssd, rack: r7}")),
			details: []string{"node selector disk=ssd: the node has hdd", "node selector rack=r7: the node has no such label"},
			remedy:  label("disk: ssd, rack: r7"), event: "NodeUpdateNodeLabel",
		},
		"NodePorts": {
			cluster: documents(node("n1", ""), port("first", ", nodeName: n1"), port("web", "")),
			details: []string{"port 8080/TCP is in use by default/first"},
			remedy:  remove("first"), event: "AssignedPodDelete",
		},
		"NodeResourcesFit": {
			cluster: documents(cards, pod("a", "2500m", ", nodeName: n1"), pod("b", "0", ", nodeName: n1"), pod("c", "0", ", nodeName: n1"),
				asks("{cpu: 2, memory: 9Gi, example.com/card: 3}")),
			details: []string{"pods: 3 of 3 places are taken", "cpu: asks 2, free 1.5 of 4", "memory: asks 9Gi, free 8Gi of 8Gi", "example.com/card: asks 3, free 2 of 2"},
			remedy:  patch("status: {allocatable: {cpu: 6, memory: 10Gi, pods: 4, example.com/card: 4}}"), event: "NodeUpdateNodeAllocatable",
		},
		"VolumeRestrictions": {
			cluster: documents(node("n1", ""), boundClaim("data", "ReadWriteOncePod", "", ""), pod("first", "1", ", nodeName: n1"+volumeOf("data")), pod("web", "1", volumeOf("data"))),
			details: []string{"claim data is in use by default/first on n1"},
			remedy:  remove("first"), event: "AssignedPodDelete",
		},
		"NodeVolumeLimits": {
			cluster: documents(node("n1", ""), boundClaim("one", "ReadWriteOnce", "", ""), boundClaim("two", "ReadWriteOnce", "", ""),
				"{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: csi.example.com, nodeID: n1, topologyKeys: [], allocatable: {count: 1}}]}}",
				pod("first", "1", ", nodeName: n1"+volumeOf("one")), pod("web", "1", volumeOf("two"))),
			remedy: remove("first"), event: "AssignedPodDelete",
		},
		"VolumeBinding": {
			cluster: documents(west, boundClaim("data", "ReadWriteOnce", "", ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "+zone+", operator: In, values: [east]}]}]}}"),
				pod("web", "1", volumeOf("data"))),
			remedy: label(zone + ": east"), event: "NodeUpdateNodeLabel",
		},
		"VolumeZone": {
			cluster: documents(west, boundClaim("data", "ReadWriteOnce", ", labels: {"+zone+": east}", ""), pod("web", "1", volumeOf("data"))),
			remedy:  label(zone + ": east"), event: "NodeUpdateNodeLabel",
		},
		"PodTopologySpread": {
			cluster: documents(east, "{apiVersion: v1, kind: Node, metadata: {name: full, labels: {"+zone+": west}}, spec: {unschedulable: true}, status: {allocatable: {cpu: 0, pods: 0}}}",
				labelled("a", "web", ", nodeName: n1"),
				labelled("web", "web", ", topologySpreadConstraints: [{topologyKey: "+zone+", maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]")),
			details: []string{zone + "=east has 1 pod with app=web, the fewest anywhere is 0, and maxSkew is 1"},
			remedy:  remove("a"), event: "AssignedPodDelete",
		},
		"InterPodAffinity": {
			cluster: documents(east, labelled("web", "web", ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "+zone+", labelSelector: {matchLabels: {app: db}}}]}}")),
			details: []string{"no pod with app=db in " + zone + "=east"},
			remedy:  step("create: " + labelled("db", "db", "")), event: "AssignedPodAdd",
		},
		"DynamicResources": {
			cluster: documents(node("n1", ""),
				"{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}",
				"{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu, namespace: default}, "+
					"spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {containers: [{name: c, image: i}], "+
					"resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]}}"),
			details: []string{"request gpu asks 1 of class gpu: the node has 0 that match"},
			remedy: "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1}, spec: {driver: gpu.example.com, nodeName: n1, " +
				"pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}]}}",
			event: "resource.k8s.io/ResourceSliceAdd",
		},
		"NodeDeclaredFeatures": {
			cluster: documents(node("n1", ""), "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default}, spec: {hostNetwork: true, hostUsers: false, containers: [{name: c, image: i}]}}"),
			details: []string{"the node does not declare the feature UserNamespacesHostNetworkSupport"},
			remedy:  patch("status: {declaredFeatures: [UserNamespacesHostNetworkSupport]}"), event: "NodeUpdateNodeDeclaredFeature",
		},
	}
}

// TestWhatIsExplainedHelps has for every in-tree plugin a pod that it rejects. The explanation names the plugin, what is
// in the way and the event; and when that happens, the pod gets its node.
func TestWhatIsExplainedHelps(t *testing.T) {
	descriptions, err := plugins.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cases := blockedBy()
	for _, plugin := range descriptions {
		test, known := cases[plugin.Name]
		delete(cases, plugin.Name)
		if !known {
			if mustBeExplained(plugin) {
				t.Errorf("plugin %s can reject a waiting pod, and there is no test that this is explained", plugin.Name)
			}
			continue
		}
		t.Run(plugin.Name, func(t *testing.T) {
			cluster := explainedCluster(t, simulate.Options{})
			cluster.replay(t, test.cluster)
			explanation := cluster.explain(t, 1)
			checkExplained(t, explanation, plugin.Name, test)
			cluster.replay(t, test.remedy)
			after := cluster.explain(t, 1)
			if after.Pool != simulate.PoolBound || after.Node != "n1" || after.WokenBy != test.event {
				t.Errorf("after the remedy the pod is %s on node %q, woken by %q; want bound on n1, woken by %s", after.Pool, after.Node, after.WokenBy, test.event)
			}
			events := func(events inspect.RecentEvent) bool {
				return events.Event == test.event && events.Plugin == plugin.Name && events.Answer == inspect.AnswerQueue
			}
			if !slices.ContainsFunc(after.RecentEvents, events) {
				t.Errorf("recent events are %+v, want that %s wanted the pod for %s", after.RecentEvents, plugin.Name, test.event)
			}
		})
	}
	if len(cases) > 0 {
		t.Errorf("tests for plugins that there are not: %v", slices.Collect(maps.Keys(cases)))
	}
}

// mustBeExplained reports whether a plugin can keep a pod waiting in a simulation. NodeName cannot, as pods with a node
// don't wait; DefaultPreemption only does while it deletes other pods, which takes no time.
func mustBeExplained(plugin plugins.Description) bool {
	rejects := func(point profiles.ExtensionPoint) bool {
		return point == profiles.PreEnqueue || point == profiles.PreFilter || point == profiles.Filter
	}
	return plugin.EnabledByDefault && plugin.Name != "NodeName" && plugin.Name != "DefaultPreemption" &&
		slices.ContainsFunc(plugin.Points, rejects)
}

func checkExplained(t *testing.T, explanation *inspect.Explanation, plugin string, test blocked) {
	t.Helper()
	pool := simulate.PoolUnschedulable
	if test.gated {
		pool = simulate.PoolGated
	}
	if explanation.Pool != pool {
		t.Errorf("the pod is %s, want %s", explanation.Pool, pool)
	}
	by := func(rejection inspect.Rejection) bool {
		return rejection.Plugin == plugin && rejection.PreEnqueue == test.gated && len(rejection.Reasons) > 0
	}
	if !slices.ContainsFunc(explanation.RejectedBy, by) {
		t.Errorf("rejected by %+v, want %s among them, with a reason", explanation.RejectedBy, plugin)
	}
	wakes := func(wake inspect.PluginEvents) bool {
		return wake.Plugin == plugin && slices.ContainsFunc(wake.Events, func(event inspect.PluginEvent) bool { return event.Event == test.event })
	}
	if !slices.ContainsFunc(explanation.RequeueEvents, wakes) {
		t.Errorf("wakes are %+v, want %s for %s", explanation.RequeueEvents, test.event, plugin)
	}
	if test.gated {
		return
	}
	if len(explanation.Nodes) != 1 || explanation.Nodes[0].Name != "n1" || len(explanation.Nodes[0].Blockers) != 1 {
		t.Fatalf("the closest node is %+v, want n1 with one blocker", explanation.Nodes)
	}
	blocker := explanation.Nodes[0].Blockers[0]
	if blocker.Plugin != plugin || blocker.Reason == "" {
		t.Errorf("the blocker is %+v, want %s with a reason", blocker, plugin)
	}
	if diff := cmp.Diff(append([]string{}, test.details...), blocker.Details); diff != "" {
		t.Errorf("details differ (-want +got):\n%s", diff)
	}
}
