// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package randomcluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rouse-scheduler/rouse/simulate"
)

// Cluster makes changes at random in a simulated cluster, to all kinds of objects that the in-tree plugins look at.
type Cluster struct {
	*simulate.Cluster
	t       T
	random  *rand.Rand
	counter int
	steps   []Step
	// fewest and most are how many nodes there are at a time.
	fewest, most int
	// nodes and pods are those that there are, without what was preempted; ending are pods that are being deleted.
	nodes, pods, ending []string
	// claims, volumes and drivers may be referred to although they are gone.
	claims, volumes []string
	// there has the objects of a few names that come and go, by kind and name, and known their latest versions.
	there map[string]bool
	known map[string]apiruntime.Object
}

// New returns a cluster in which nothing has happened yet. The seed decides what happens in it. Every other cluster has one or two
// nodes at a time, so that a single change can decide whether a pod fits anywhere.
func New(t T, cluster *simulate.Cluster, seed uint64) *Cluster {
	fewest, most := 3, 8
	if seed%2 == 1 {
		fewest, most = 1, 2
	}
	return &Cluster{
		Cluster: cluster, t: t, fewest: fewest, most: most, random: rand.New(rand.NewPCG(seed, 1)), there: map[string]bool{}, known: map[string]apiruntime.Object{},
	}
}

func (c *Cluster) one(of ...string) string { return of[c.random.IntN(len(of))] }

// often tells true in so many of ten cases.
func (c *Cluster) often(inTen int) bool { return c.random.IntN(10) < inTen }

func (c *Cluster) name(prefix string) string {
	c.counter++
	return fmt.Sprintf("%s%d", prefix, c.counter)
}

// begin creates what the rest refers to, and some nodes.
func (c *Cluster) begin() {
	for _, name := range []string{"default", "other"} {
		c.create(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, class := range []string{"late", "early", "made"} {
		c.addClass(class)
	}
	for range c.most / 2 {
		c.addNode()
	}
	c.beginDevices()
}

// kinds are the changes to every kind of object, and how many of them a scenario has.
func (c *Cluster) kinds() map[string]kindOfChange {
	kinds := map[string]kindOfChange{
		"pods added":           {70, c.addPod},
		"pods deleted":         {30, c.deletePod},
		"pods changed":         {25, c.changePod},
		"nodes":                {12, c.addOrDeleteNode},
		"nodes changed":        {25, c.changeNode},
		"namespaces":           {6, c.changeNamespace},
		"claims and volumes":   {20, c.addVolume},
		"claims":               {6, c.changeClaim},
		"volumes":              {8, c.changeVolume},
		"StorageClasses":       {6, c.changeClass},
		"CSINodes":             {10, c.changeCSINode},
		"CSIDrivers":           {6, c.changeDriver},
		"CSIStorageCapacities": {8, c.changeCapacity},
		"VolumeAttachments":    {6, c.changeAttachment},
		"Services":             {4, c.changeService},
		"PodDisruptionBudgets": {8, c.changeBudget},
	}
	maps.Copy(kinds, c.kindsOfDevices())
	return kinds
}

type kindOfChange struct {
	times  int
	change func()
}

// plan returns the changes in the order in which they are made.
func (c *Cluster) plan() []func() {
	kinds := c.kinds()
	var planned []func()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for range kinds[name].times {
			planned = append(planned, kinds[name].change)
		}
	}
	c.random.Shuffle(len(planned), func(i, j int) { planned[i], planned[j] = planned[j], planned[i] })
	return planned
}

// Run makes some four hundred changes, some of them at the same time, and lets a minute pass.
func (c *Cluster) Run() {
	c.t.Helper()
	c.begin()
	for _, change := range c.plan() {
		change()
		if c.often(7) {
			c.advance(max(time.Duration(c.random.IntN(15))*time.Second, time.Millisecond))
		}
	}
	c.advance(time.Minute)
}

func (c *Cluster) advance(d time.Duration) {
	c.t.Helper()
	if err := c.Advance(d); err != nil {
		c.t.Fatal(err)
	}
}

func pick(c *Cluster, names []string) (int, string, bool) {
	if len(names) == 0 {
		return 0, "", false
	}
	i := c.random.IntN(len(names))
	return i, names[i], true
}

// comesOrGoes creates an object that is not there, or changes or deletes it. It tells which objects there are by name.
func (c *Cluster) comesOrGoes(there map[string]bool, name string, create, change, remove func()) {
	switch {
	case !there[name]:
		there[name] = true
		create()
	case c.often(6):
		change()
	default:
		delete(there, name)
		remove()
	}
}

func (c *Cluster) node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func quantities(cpu string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("5")}
}

func (c *Cluster) addOrDeleteNode() {
	if len(c.nodes) < c.most && c.often(6) {
		c.addNode()
	} else if i, name, found := pick(c, c.nodes); found && len(c.nodes) >= c.fewest {
		c.nodes = slices.Delete(c.nodes, i, i+1)
		c.remove(c.node(name))
	}
}

func (c *Cluster) addNode() {
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

func (c *Cluster) changeNode() {
	_, name, found := pick(c, c.nodes)
	if !found {
		return
	}
	patches := []string{
		fmt.Sprintf(`{"metadata":{"labels":{"disk":%q}}}`, c.one("ssd", "hdd", "none")),
		`{"metadata":{"labels":{"disk":null}}}`,
		fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1.LabelTopologyZone, c.one("east", "west")),
		fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, v1.LabelTopologyZone),
		`{"metadata":{"annotations":{"note":"` + c.one("a", "b") + `"}}}`,
		`{"spec":{"taints":[{"key":"keep","effect":"NoSchedule"}]}}`,
		`{"spec":{"taints":null}}`,
		`{"spec":{"taints":null},"metadata":{"labels":{"disk":"ssd"}}}`,
		fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, c.often(3)),
		fmt.Sprintf(`{"status":{"allocatable":{"cpu":%q}}}`, c.one("1", "2", "4", "6")),
		fmt.Sprintf(`{"status":{"allocatable":{%q:%q}}}`, gpuResource, c.one("0", "1", "2")),
		fmt.Sprintf(`{"status":{"allocatable":{"pods":%q}}}`, c.one("3", "5", "8")),
		`{"status":{"declaredFeatures":["UserNamespacesHostNetworkSupport"]}}`,
		`{"status":{"declaredFeatures":null}}`,
		fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, c.one("True", "False")),
	}
	c.patch(c.node(name), patches[c.random.IntN(len(patches))])
}

// changeNamespace gives a namespace another label.
func (c *Cluster) changeNamespace() {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.one("default", "other")}}
	c.patch(namespace, fmt.Sprintf(`{"metadata":{"labels":{"team":%s}}}`, c.one(`"a"`, `"b"`, "null")))
}

func (c *Cluster) changeService() {
	name := c.one("web", "db")
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}}}
	c.comesOrGoes(c.there, "service "+name,
		func() { c.create(service) },
		func() { c.patch(service, fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, c.one("web", "db", "job"))) },
		func() { c.remove(service) })
}

func (c *Cluster) changeBudget() {
	name := c.one("web", "db")
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	least := intstr.FromInt32(1)
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}
	c.comesOrGoes(c.there, "budget "+name,
		func() { c.create(budget) },
		func() { c.patch(budget, fmt.Sprintf(`{"status":{"disruptionsAllowed":%d}}`, c.random.IntN(3))) },
		func() { c.remove(budget) })
}
