// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package randomcluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// pod returns the pod of a name, which has its namespace in it.
func (c *Cluster) pod(name string) *v1.Pod {
	namespace := "default"
	if name[0] == 'o' {
		namespace = "other"
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// anyPod returns a pod that there is.
func (c *Cluster) anyPod() (*v1.Pod, bool) {
	for len(c.pods) > 0 {
		i, name, _ := pick(c, c.pods)
		pod := c.pod(name)
		if state, _ := c.Pod(pod.Namespace, name); state.Pool != "deleted" {
			return pod, true
		}
		c.pods = slices.Delete(c.pods, i, i+1) // it was preempted
	}
	return nil, false
}

// addPod creates a pod that asks for something or other.
func (c *Cluster) addPod() {
	name := c.name(c.one("p", "p", "p", "o"))
	pod := c.pod(name)
	pod.Labels = map[string]string{"app": c.one("web", "db", "job")}
	container := v1.Container{Name: "c", Image: "i", Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(c.one("100m", "500m", "1", "2", "3"))},
	}}
	if c.often(2) {
		container.Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080, HostIP: c.one("", "", "10.0.0.1", "10.0.0.2")}}
	}
	pod.Spec.Containers = []v1.Container{container}
	if c.often(2) {
		pod.Spec.NodeSelector = map[string]string{"disk": c.one("ssd", "hdd")}
	}
	if c.often(3) {
		pod.Spec.Tolerations = []v1.Toleration{{Key: "keep", Operator: v1.TolerationOpExists}}
	}
	if c.often(7) {
		pod.Spec.Priority = ptr.To(int32(c.random.IntN(4) * 100))
	}
	if c.often(1) {
		pod.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever)
	}
	if c.often(1) {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}}
	}
	if c.often(1) {
		pod.Spec.HostNetwork, pod.Spec.HostUsers = true, ptr.To(false) // which takes a feature of the node
	}
	if c.often(2) {
		pod.Finalizers = []string{"example.com/archive"}
	}
	c.addRelations(pod)
	c.addVolumes(pod)
	c.addClaims(pod)
	c.create(pod)
	c.pods = append(c.pods, name)
}

// addRelations has a pod be near others, or not.
func (c *Cluster) addRelations(pod *v1.Pod) {
	term := func() v1.PodAffinityTerm {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.one("web", "db", "job")}}
		term := v1.PodAffinityTerm{TopologyKey: c.one(v1.LabelHostname, v1.LabelTopologyZone), LabelSelector: selector}
		switch {
		case c.often(2):
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": c.one("a", "b")}}
		case c.often(1):
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
		return term
	}
	terms := []v1.PodAffinityTerm{term()}
	if c.often(2) {
		terms = append(terms, term())
	}
	affinity, antiAffinity := &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}, &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
	switch c.random.IntN(8) {
	case 0:
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: affinity}
	case 1:
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: antiAffinity}
	case 2:
		other := []v1.PodAffinityTerm{term()}
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: affinity, PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: other}}
	case 3, 4:
		for _, term := range terms {
			constraint := v1.TopologySpreadConstraint{
				TopologyKey: term.TopologyKey, MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: term.LabelSelector,
			}
			if c.often(3) {
				constraint.MinDomains = ptr.To(int32(2))
			}
			if c.often(3) {
				constraint.NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore)
			}
			if c.often(3) {
				constraint.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
			}
			if len(pod.Spec.TopologySpreadConstraints) == 0 || pod.Spec.TopologySpreadConstraints[0].TopologyKey != term.TopologyKey {
				pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
			}
		}
	}
}

// addVolumes has a pod use claims, or disks without one.
func (c *Cluster) addVolumes(pod *v1.Pod) {
	for range c.random.IntN(3) {
		volume := v1.Volume{Name: c.name("data")}
		switch _, claim, found := pick(c, c.claims); {
		case found && c.often(4):
			volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
		case c.often(1):
			volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: c.one("disk-a", "disk-b")}
		case c.often(1):
			volume.CSI = &v1.CSIVolumeSource{Driver: c.driverName()}
		default:
			continue
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

// deletePod has a pod go or finish, at once or after a while.
func (c *Cluster) deletePod() {
	if i, name, found := pick(c, c.ending); found && c.often(4) {
		c.ending = slices.Delete(c.ending, i, i+1)
		c.patch(c.pod(name), `{"metadata":{"finalizers":null}}`)
		return
	}
	pod, found := c.anyPod()
	if !found {
		return
	}
	state, _ := c.Pod(pod.Namespace, pod.Name)
	if state.Pool == "bound" && c.often(2) {
		c.patch(pod, `{"status":{"phase":"Succeeded"}}`)
	} else {
		c.remove(pod)
		current, _ := c.Client().CoreV1().Pods(pod.Namespace).Get(c.t.Context(), pod.Name, metav1.GetOptions{})
		if current != nil && current.DeletionTimestamp != nil {
			c.ending = append(c.ending, pod.Name)
		}
	}
	c.pods = slices.DeleteFunc(c.pods, func(name string) bool { return name == pod.Name })
}

func (c *Cluster) changePod() {
	pod, found := c.anyPod()
	if !found {
		return
	}
	patches := []string{
		fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, c.one("web", "db", "job")),
		`{"spec":{"tolerations":[{"key":"keep","operator":"Exists"}]}}`,
		`{"spec":{"schedulingGates":null}}`,
		fmt.Sprintf(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q}}}]}}`, c.one("50m", "400m", "900m", "1500m")),
		`{"metadata":{"annotations":{"note":"` + c.one("a", "b") + `"}}}`,
	}
	c.patch(pod, patches[c.random.IntN(len(patches))])
}
