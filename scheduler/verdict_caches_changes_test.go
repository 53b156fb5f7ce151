// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// assumption is a pod that was given a node, and is not seen there yet; the state is that of its cycle.
type assumption struct {
	pod   *v1.Pod
	state fwk.CycleState
}

// step changes the cluster in some way, or not at all.
func (c *comparison) step() {
	if c.volumes && c.random.IntN(2) == 0 {
		c.changeObject()
		return
	}
	switch c.random.IntN(20) {
	case 0:
		c.changeNode(c.random.IntN(14))
	case 1:
		if name := c.someNode(); name != "" && len(c.nodes) > 3 {
			c.removeNode(name)
		}
	case 2, 3, 4:
		for len(c.pods) > c.random.IntN(30) {
			c.removePod(c.random.IntN(len(c.pods)))
		}
		for len(c.assumed) > c.random.IntN(10) {
			c.endAssumption()
		}
	case 5:
		if c.random.IntN(3) > 0 {
			return
		}
		c.nominate(c.someNode())
	case 6:
		for _, pod := range c.nominees() {
			c.withdraw(pod)
		}
	case 7: // others take their place
		for _, pod := range c.nominees() {
			node := c.nominated[pod]
			c.withdraw(pod)
			c.nominate(node)
		}
	case 8, 9:
		if len(c.pods) > 0 {
			c.updatePod(c.random.IntN(len(c.pods)))
		}
	case 10:
		if len(c.pods) > 0 {
			c.recreatePod(c.random.IntN(len(c.pods)))
		}
	case 11: // the node of a name is another one
		if i := c.random.IntN(14); c.nodes[fmt.Sprintf("n%d", i)] != nil {
			c.removeNode(fmt.Sprintf("n%d", i))
			c.changeNode(i)
		}
	case 12, 13:
		c.endAssumption()
	case 14, 15:
		c.changeDevice()
	default:
		c.changeObject()
	}
}

func (c *comparison) removeNode(name string) {
	c.check(c.cache.RemoveNode(c.nodes[name]))
	delete(c.nodes, name)
}

func (c *comparison) removePod(i int) {
	c.check(c.cache.RemovePod(c.pods[i]))
	c.pods = append(c.pods[:i], c.pods[i+1:]...)
}

// updatePod changes a pod in place, in a way that pods on nodes change.
func (c *comparison) updatePod(i int) {
	r, old := c.random, c.pods[i]
	pod := objects.PodFrom(old).Build()
	switch r.IntN(4) {
	case 0:
		pod.Labels = map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
		if c.neighbours {
			pod.Labels = c.podLabels(pod.Name)
		}
	case 1:
		pod.DeletionTimestamp = &metav1.Time{Time: metav1.Unix(1, 0).Time}
	case 2:
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse([]string{"0", "100m", "700m", "2"}[r.IntN(4)])
	case 3: // the node has allocated something else than the pod asks for
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, AllocatedResources: v1.ResourceList{v1.ResourceCPU: resource.MustParse([]string{"0", "1", "3"}[r.IntN(3)])},
		}}
	}
	c.check(c.cache.UpdatePod(old, pod))
	c.pods[i] = pod
}

// recreatePod puts another pod with the name of an old one on some node: seen as such, or as an update.
func (c *comparison) recreatePod(i int) {
	old, node := c.pods[i], c.someNode()
	if node == "" {
		return
	}
	pod := c.pod()
	pod.Namespace, pod.Name = old.Namespace, old.Name
	// A claim that was made for another pod is an error on the node, which is met or not depending on what is asked first.
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(volume v1.Volume) bool { return volume.Ephemeral != nil })
	elsewhere(pod, node)
	if c.random.IntN(2) == 0 {
		c.check(c.cache.UpdatePod(old, pod))
	} else {
		c.check(c.cache.RemovePod(old))
		c.check(c.cache.AddPod(pod))
	}
	c.pods[i] = pod
}

// endAssumption sees a pod bound on the node that it was given, or on another one, or takes it back.
func (c *comparison) endAssumption() {
	if len(c.assumed) == 0 {
		return
	}
	i := c.random.IntN(len(c.assumed))
	ended := c.assumed[i]
	c.assumed = append(c.assumed[:i], c.assumed[i+1:]...)
	switch c.random.IntN(4) {
	case 0:
		c.profile.RunReservePluginsUnreserve(c.t.Context(), ended.state, ended.pod, ended.pod.Spec.NodeName)
		c.check(c.cache.ForgetPod(ended.pod))
	case 1:
		c.check(c.cache.RemoveAssumedPod(ended.pod))
	case 2:
		pod := objects.PodFrom(ended.pod).Build()
		if node := c.someNode(); node != "" {
			elsewhere(pod, node)
		}
		c.check(c.cache.AddPod(pod))
		c.pods = append(c.pods, pod)
	default:
		c.check(c.cache.AddPod(ended.pod))
		c.pods = append(c.pods, ended.pod)
	}
}

// elsewhere puts a pod on a node that was not asked about it, without host ports: of two pods on a node with one port, the
// first that goes takes the port with it, as with kube-scheduler.
func elsewhere(pod *v1.Pod, node string) {
	pod.Spec.NodeName, pod.Spec.Containers[0].Ports = node, nil
}

func (c *comparison) nominate(node string) {
	pod := c.pod()
	info, err := framework.NewPodInfo(pod)
	c.check(err)
	c.nominator.AddNominatedPod(klog.Logger{}, info, nominate(node).NominatingInfo)
	c.nominated[pod] = node
}

func (c *comparison) withdraw(pod *v1.Pod) {
	c.nominator.DeleteNominatedPodIfExists(pod)
	delete(c.nominated, pod)
}

// nominees are the nominated pods, in the same order for equal seeds.
func (c *comparison) nominees() []*v1.Pod {
	return slices.SortedFunc(maps.Keys(c.nominated), func(a, b *v1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// someNode returns the name of a node, the same for equal seeds.
func (c *comparison) someNode() string {
	for range 50 {
		if name := fmt.Sprintf("n%d", c.random.IntN(14)); c.nodes[name] != nil {
			return name
		}
	}
	return ""
}

// changeNode adds or replaces a node.
func (c *comparison) changeNode(i int) {
	r := c.random
	node := objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", fmt.Sprint(2+r.IntN(8)), "memory", "8Gi").Build()
	c.made++
	node.UID = types.UID(fmt.Sprintf("node-%d", c.made))
	node.Labels["topology.kubernetes.io/zone"] = fmt.Sprintf("z%d", r.IntN(3))
	switch r.IntN(12) {
	case 0:
		delete(node.Labels, v1.LabelHostname)
	case 1:
		delete(node.Labels, v1.LabelTopologyZone)
	case 2:
		node.Labels[v1.LabelHostname] = "n1"
	}
	if r.IntN(3) == 0 {
		node.Labels["disk"] = []string{"ssd", "hdd"}[r.IntN(2)]
	}
	node.Labels["level"] = fmt.Sprint(r.IntN(6))
	node.Spec.Unschedulable = r.IntN(12) == 0
	if r.IntN(3) == 0 {
		effects := []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}
		for range 1 + r.IntN(2) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: fmt.Sprintf("t%d", r.IntN(2)), Effect: effects[r.IntN(2)]})
		}
	}
	if r.IntN(2) == 0 {
		node.Status.Images = []v1.ContainerImage{{Names: []string{fmt.Sprintf("image%d:1", r.IntN(2))}, SizeBytes: int64(r.IntN(2000)) << 20}}
	}
	if r.IntN(3) == 0 {
		node.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"}
	}
	node.Status.Allocatable[v1.ResourcePods] = *resource.NewQuantity(int64(3+r.IntN(12)), resource.DecimalSI)
	c.nodes[node.Name] = node
	c.check(c.cache.UpdateNode(node))
}
