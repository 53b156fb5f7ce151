// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// checkBuilt compares an object with what it should look like as YAML.
func checkBuilt[T any](t *testing.T, got *T, want string) {
	t.Helper()
	wanted := new(T)
	if err := yaml.UnmarshalStrict([]byte(want), wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPod(t *testing.T) {
	tests := []struct {
		name string
		pod  objects.PodBuilder
		want string
	}{
		{"nothing said", objects.Pod("web"), `
metadata: {name: web, namespace: default, uid: default/web}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {}}]}
`},
		{"zero value", objects.PodBuilder{}.Name("web"), `
metadata: {name: web, namespace: default, uid: default/web}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {}}]}
`},
		{"metadata", objects.Pod("web").Namespace("shop").Label("app", "web").Label("tier", "front").Annotation("a", "b"), `
metadata: {name: web, namespace: shop, uid: shop/web, labels: {app: web, tier: front}, annotations: {a: b}}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {}}]}
`},
		{"own UID", objects.Pod("web").UID("second"), `
metadata: {name: web, namespace: default, uid: second}
spec: {schedulerName: default-scheduler, containers: [{name: main, resources: {}}]}
`},
		{
			"containers",
			objects.Pod("web").Requests("cpu", "500m").Requests("memory", "1Gi").Image("web:1").HostPort(80).
				Container("proxy").Requests("cpu", "1").Requests("memory", "1Gi"),
			`
metadata: {name: web, namespace: default, uid: default/web}
spec:
  schedulerName: default-scheduler
  containers:
  - name: main
    image: web:1
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
    resources: {requests: {cpu: 500m, memory: 1Gi}}
  - name: proxy
    resources: {requests: {cpu: "1", memory: 1Gi}}
`},
		{
			"what counts in addition to containers",
			objects.Pod("web").InitContainer("setup", "cpu", "2").Sidecar("proxy").PodRequests("cpu", "3").Overhead("cpu", "100m").
				EphemeralVolume("cache").ResourceClaim("gpu"),
			`
metadata: {name: web, namespace: default, uid: default/web}
spec:
  schedulerName: default-scheduler
  initContainers:
  - {name: setup, resources: {requests: {cpu: "2"}}}
  - {name: proxy, restartPolicy: Always, resources: {}}
  resources: {requests: {cpu: "3"}}
  overhead: {cpu: 100m}
  volumes: [{name: cache, ephemeral: {}}]
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
  containers: [{name: main, resources: {}}]
`},
		{
			"later versions",
			objects.PodFrom(objects.PodFrom(objects.Pod("web").Node("n1").Build()).Build()).Label("app", "web"),
			`
metadata: {name: web, namespace: default, uid: default/web, resourceVersion: "2", labels: {app: web}}
spec: {schedulerName: default-scheduler, nodeName: n1, containers: [{name: main, resources: {}}]}
`},
		{
			"scheduling",
			objects.Pod("web").SchedulerName("mine").Priority(5).PreemptionPolicy(v1.PreemptNever).
				SchedulingGate("a").SchedulingGate("b").Node("n1").NominatedNode("n2").Phase(v1.PodRunning).
				Tolerates("key", "value", v1.TaintEffectNoExecute).PersistentVolumeClaim("data").PersistentVolumeClaim("logs"),
			`
metadata: {name: web, namespace: default, uid: default/web}
spec:
  schedulerName: mine
  priority: 5
  preemptionPolicy: Never
  schedulingGates: [{name: a}, {name: b}]
  nodeName: n1
  tolerations: [{key: key, operator: Equal, value: value, effect: NoExecute}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: logs, persistentVolumeClaim: {claimName: logs}}
  containers: [{name: main, resources: {}}]
status: {nominatedNodeName: n2, phase: Running}
`},
		{
			"node affinity",
			objects.Pod("web").NodeSelector("disk", "ssd").NodeSelector("zone", "a").
				NodeAffinity("a=1,b!=2,c in (3, 4),d notin (5)").NodeAffinity("e,!f,g>6,h<7").PreferredNodeAffinity(10, "i==8"),
			`
metadata: {name: web, namespace: default, uid: default/web}
spec:
  schedulerName: default-scheduler
  nodeSelector: {disk: ssd, zone: a}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: a, operator: In, values: ["1"]}
          - {key: b, operator: NotIn, values: ["2"]}
          - {key: c, operator: In, values: ["3", "4"]}
          - {key: d, operator: NotIn, values: ["5"]}
        - matchExpressions:
          - {key: e, operator: Exists}
          - {key: f, operator: DoesNotExist}
          - {key: g, operator: Gt, values: ["6"]}
          - {key: h, operator: Lt, values: ["7"]}
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 10, preference: {matchExpressions: [{key: i, operator: In, values: ["8"]}]}}
  containers: [{name: main, resources: {}}]
`},
		{
			"pod affinity",
			objects.Pod("web").PodAffinity("zone", "app=db").PreferredPodAffinity(1, "rack", "app in (a)").
				PodAntiAffinity("host", "app=web").PodAntiAffinity("host", "app=noisy").PreferredPodAntiAffinity(2, "zone", "app=web").
				SpreadConstraint(3, "zone", v1.DoNotSchedule, "app=web"),
			`
metadata: {name: web, namespace: default, uid: default/web}
spec:
  schedulerName: default-scheduler
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 1
        podAffinityTerm: {topologyKey: rack, labelSelector: {matchExpressions: [{key: app, operator: In, values: [a]}]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: host, labelSelector: {matchLabels: {app: web}}}
      - {topologyKey: host, labelSelector: {matchLabels: {app: noisy}}}
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 2
        podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}
  topologySpreadConstraints:
  - {maxSkew: 3, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
  containers: [{name: main, resources: {}}]
`},
		{"anything", objects.Pod("web").With(func(pod *v1.Pod) { pod.Spec.HostNetwork = true }), `
metadata: {name: web, namespace: default, uid: default/web}
spec: {schedulerName: default-scheduler, hostNetwork: true, containers: [{name: main, resources: {}}]}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkBuilt(t, test.pod.Build(), test.want) })
	}
}

func TestNode(t *testing.T) {
	tests := []struct {
		name string
		node objects.NodeBuilder
		want string
	}{
		{"nothing said", objects.Node("n1"), `
metadata: {name: n1, uid: n1, labels: {kubernetes.io/hostname: n1}}
status: {capacity: {pods: "110"}, allocatable: {pods: "110"}, conditions: [{type: Ready, status: "True"}]}
`},
		{
			"everything",
			objects.Node("n1").UID("second").Label("disk", "ssd").Annotation("a", "b").Capacity("cpu", "4").Allocatable("cpu", "3500m").
				Capacity("pods", "10").Taint("key", "value", v1.TaintEffectNoSchedule).Unschedulable().Image(100, "web:1", "web:latest").
				Condition(v1.NodeReady, v1.ConditionFalse).Condition(v1.NodeDiskPressure, v1.ConditionTrue),
			`
metadata: {name: n1, uid: second, labels: {kubernetes.io/hostname: n1, disk: ssd}, annotations: {a: b}}
spec: {unschedulable: true, taints: [{key: key, value: value, effect: NoSchedule}]}
status:
  capacity: {cpu: "4", pods: "10"}
  allocatable: {cpu: 3500m, pods: "10"}
  conditions: [{type: Ready, status: "False"}, {type: DiskPressure, status: "True"}]
  images: [{names: ["web:1", "web:latest"], sizeBytes: 100}]
`},
		{"anything", objects.NodeBuilder{}.With(func(node *v1.Node) {
			*node = v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}, Spec: v1.NodeSpec{PodCIDR: "10.0.0.0/24"}}
		}), `
metadata: {name: n2, uid: n2}
spec: {podCIDR: 10.0.0.0/24}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkBuilt(t, test.node.Build(), test.want) })
	}
}

func TestPersistentVolumeClaim(t *testing.T) {
	owner := objects.Pod("web").Build()
	claim := objects.PersistentVolumeClaim("data").StorageClass("fast").Request("1Gi").AccessModes(v1.ReadWriteOnce).Owner(owner)
	checkBuilt(t, claim.Bound("pv-1").Build(), `
metadata:
  name: data
  namespace: default
  uid: default/data
  annotations: {pv.kubernetes.io/bind-completed: "yes"}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: web, uid: default/web, controller: true}]
spec: {storageClassName: fast, volumeName: pv-1, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
status: {phase: Bound}
`)
	checkBuilt(t, objects.PersistentVolumeClaimBuilder{}.Build(), `{metadata: {namespace: default, uid: default/}}`)
}

func TestPersistentVolume(t *testing.T) {
	volume := objects.PersistentVolume("pv-1").StorageClass("fast").Capacity("1Gi").CSI("disks.example.com", "d1").Label("zone", "a")
	checkBuilt(t, volume.NodeAffinity("zone=a").NodeAffinity("zone=b").Build(), `
metadata: {name: pv-1, uid: pv-1, labels: {zone: a}}
spec:
  storageClassName: fast
  capacity: {storage: 1Gi}
  csi: {driver: disks.example.com, volumeHandle: d1}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: zone, operator: In, values: [a]}]
      - matchExpressions: [{key: zone, operator: In, values: [b]}]
status: {phase: Available}
`)
}

func TestDevices(t *testing.T) {
	claim := objects.ResourceClaim("gpus").Request("gpu", "gpu", 2)
	checkBuilt(t, claim.Build(), `
metadata: {name: gpus, namespace: default, uid: default/gpus}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 2}}]}}
`)
	checkBuilt(t, objects.ResourceSlice("gpu.example.com", "n1", "gpu-0", "gpu-1"), `
metadata: {name: n1, uid: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
`)
}

// TestBuildersShareNothing changes everything that can be reached from one object, and looks at another.
func TestBuildersShareNothing(t *testing.T) {
	beginning := objects.Pod("web").Label("app", "web").Requests("cpu", "1")
	first := beginning.Label("app", "other").Requests("cpu", "2").Build()
	second, again := beginning.Build(), beginning.Build()
	second.Labels["app"] = "changed"
	second.Spec.Containers[0].Resources.Requests["cpu"] = first.Spec.Containers[0].Resources.Requests["cpu"]
	second.Spec.Priority = ptr.To[int32](1)
	if diff := cmp.Diff(beginning.Build(), again); diff != "" {
		t.Errorf("a pod has changed with another (-want +got):\n%s", diff)
	}
	if got := again.Spec.Containers[0].Resources.Requests.Cpu().String() + again.Labels["app"]; got != "1web" {
		t.Errorf("the beginning has changed with what was made from it: %s", got)
	}

	node := objects.Node("n1")
	node.Label("disk", "ssd").Build().Labels["x"] = "y"
	if diff := cmp.Diff(objects.Node("n1").Build(), node.Build()); diff != "" {
		t.Errorf("a node has changed with another (-want +got):\n%s", diff)
	}
}

func TestBuildersPanicOnMistakes(t *testing.T) {
	tests := map[string]struct {
		build func()
		want  string
	}{
		"quantity of a pod": {
			func() { objects.Pod("web").Requests("cpu", "one") },
			`objects: "one" is no quantity of cpu: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
		},
		"half a pair": {
			func() { objects.Node("n1").Capacity("cpu") },
			`objects: ["cpu"] are no pairs of a resource and a quantity`,
		},
		"selector of pods": {
			func() { objects.Pod("web").PodAffinity("zone", "a b") },
			`objects: "a b" is no selector of labels: couldn't parse the selector string "a b": unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt`,
		},
		"selector of nodes": {
			func() { objects.Pod("web").NodeAffinity("a b") },
			`objects: "a b" is no selector of nodes: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if diff := cmp.Diff(any(test.want), recover()); diff != "" {
					t.Errorf("panic (-want +got):\n%s", diff)
				}
			}()
			test.build()
		})
	}
}
