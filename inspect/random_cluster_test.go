// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/simulate"
)

// randomCluster makes changes at random in a simulated cluster, of all kinds that the in-tree plugins look at.
type randomCluster struct {
	*simulate.Cluster
	t       *testing.T
	random  *rand.Rand
	counter int
	nodes   []string
	pods    []string
	claims  []string
}

func (c *randomCluster) one(of ...string) string { return of[c.random.IntN(len(of))] }

// often tells true in so many of ten cases.
func (c *randomCluster) often(inTen int) bool { return c.random.IntN(10) < inTen }

func (c *randomCluster) name(prefix string) string {
	c.counter++
	return fmt.Sprintf("%s%d", prefix, c.counter)
}

func (c *randomCluster) create(object apiruntime.Object) {
	c.t.Helper()
	if err := c.Create(object); err != nil {
		c.t.Fatal(err)
	}
}

// begin creates the objects that all pods may refer to, and some nodes.
func (c *randomCluster) begin() {
	wait, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	for name, mode := range map[string]*storagev1.VolumeBindingMode{"late": &wait, "early": &immediate} {
		c.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: mode})
	}
	for range 4 {
		c.addNode()
	}
}

// change makes one change.
func (c *randomCluster) change() {
	switch c.random.IntN(14) {
	case 0, 1, 2, 3, 4:
		c.addPod()
	case 5, 6, 7:
		if i, name, found := pick(c, c.pods); found {
			c.pods = append(c.pods[:i], c.pods[i+1:]...)
			_ = c.Delete(c.pod(name)) // it may have been preempted
		}
	case 8:
		if _, name, found := pick(c, c.pods); found {
			_ = c.Patch(c.pod(name), fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, c.one("web", "db", "job")))
		}
	case 9:
		if _, name, found := pick(c, c.pods); found {
			_ = c.Patch(c.pod(name), `{"spec":{"tolerations":[{"key":"keep","operator":"Exists"}]}}`)
		}
	case 10, 11:
		c.changeNode()
	case 12:
		if len(c.nodes) < 8 && c.often(6) {
			c.addNode()
		} else if i, name, found := pick(c, c.nodes); found && len(c.nodes) > 2 {
			c.nodes = append(c.nodes[:i], c.nodes[i+1:]...)
			if err := c.Delete(c.node(name)); err != nil {
				c.t.Fatal(err)
			}
		}
	default:
		c.addVolume()
	}
}

func pick(c *randomCluster, names []string) (int, string, bool) {
	if len(names) == 0 {
		return 0, "", false
	}
	i := c.random.IntN(len(names))
	return i, names[i], true
}

func (c *randomCluster) pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func (c *randomCluster) node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func quantities(cpu string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("5")}
}

func (c *randomCluster) addNode() {
	name := c.name("n")
	node := c.node(name)
	node.Labels = map[string]string{v1.LabelHostname: name}
	if c.often(8) {
		node.Labels[v1.LabelTopologyZone] = c.one("east", "west")
	}
	if c.often(5) {
		node.Labels["disk"] = c.one("ssd", "hdd")
	}
	if c.often(3) {
		node.Spec.Taints = []v1.Taint{{Key: "keep", Effect: v1.TaintEffectNoSchedule}}
	}
	node.Spec.Unschedulable = c.often(2)
	node.Status.Allocatable = quantities(c.one("1", "2", "4"))
	c.create(node)
	c.nodes = append(c.nodes, name)
}

func (c *randomCluster) changeNode() {
	_, name, found := pick(c, c.nodes)
	if !found {
		return
	}
	patches := []string{
		fmt.Sprintf(`{"metadata":{"labels":{"disk":%q}}}`, c.one("ssd", "hdd", "none")),
		fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1.LabelTopologyZone, c.one("east", "west")),
		`{"metadata":{"annotations":{"note":"` + c.one("a", "b") + `"}}}`,
		`{"spec":{"taints":[{"key":"keep","effect":"NoSchedule"}]}}`,
		`{"spec":{"taints":null}}`,
		`{"spec":{"taints":null},"metadata":{"labels":{"disk":"ssd"}}}`,
		fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, c.often(3)),
		fmt.Sprintf(`{"status":{"allocatable":{"cpu":%q}}}`, c.one("1", "2", "4", "6")),
	}
	if err := c.Patch(c.node(name), patches[c.random.IntN(len(patches))]); err != nil {
		c.t.Fatal(err)
	}
}

// addPod creates a pod that asks for something or other.
func (c *randomCluster) addPod() {
	name := c.name("p")
	pod := c.pod(name)
	pod.Labels = map[string]string{"app": c.one("web", "db", "job")}
	container := v1.Container{Name: "c", Image: "i", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(c.one("100m", "500m", "1", "2", "3"))},
	}}
	if c.often(2) {
		container.Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	}
	pod.Spec.Containers = []v1.Container{container}
	if c.often(2) {
		pod.Spec.NodeSelector = map[string]string{"disk": c.one("ssd", "hdd")}
	}
	if c.often(3) {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "keep", Operator: v1.TolerationOpExists}}
	}
	if c.often(2) {
		pod.Spec.Priority = ptr.To(int32(c.random.IntN(3) * 100))
	}
	c.addRelations(pod)
	if _, claim, found := pick(c, c.claims); found && c.often(3) {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
	c.create(pod)
	c.pods = append(c.pods, name)
}

// addRelations has a pod be near others, or not.
func (c *randomCluster) addRelations(pod *v1.Pod) {
	key, other := c.one(v1.LabelHostname, v1.LabelTopologyZone), c.one("web", "db", "job")
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": other}}
	terms := []v1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector}}
	switch c.random.IntN(6) {
	case 0:
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 1:
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case 2:
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector,
		}}
	}
}

// addVolume creates a claim, a volume, or both.
func (c *randomCluster) addVolume() {
	mode, class := v1.ReadWriteOnce, c.one("late", "early")
	if c.often(4) {
		mode = v1.ReadWriteOncePod
	}
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	claim, volume := c.name("claim"), c.name("volume")
	if c.often(8) {
		created := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim}}
		created.Spec = v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{mode}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: size},
		}
		if c.often(5) {
			created.Spec.VolumeName = volume
			created.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			created.Status.Phase = v1.ClaimBound
		}
		c.create(created)
		c.claims = append(c.claims, claim)
	}
	if c.often(8) {
		created := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}}
		created.Spec = v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{mode}, StorageClassName: class, Capacity: size,
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{c.one("east", "west")},
				}},
			}}}},
		}
		created.Status.Phase = v1.VolumeAvailable
		c.create(created)
	}
}

// run makes so many changes, some of them at the same time.
func (c *randomCluster) run(changes int) {
	c.t.Helper()
	c.begin()
	for range changes {
		c.change()
		if c.often(7) {
			if err := c.Advance(time.Duration(c.random.IntN(15)) * time.Second); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	if err := c.Advance(time.Minute); err != nil {
		c.t.Fatal(err)
	}
}
