// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// admit does with a new object what an API server does before it stores it, as far as scheduling can tell the
// difference: defaults are set, and pods get the priority of their class. It may change the object.
func (s *store) admit(c *collection, created object) (object, error) {
	if err := s.complete(c, created); err != nil {
		return nil, err
	}
	if namespace, ok := created.(*v1.Namespace); ok {
		if replaced, done := s.replaceImplied(c, namespace); done {
			return replaced, nil
		}
	}
	if namespace := created.GetNamespace(); namespace != "" {
		s.implyNamespace(namespace)
	}
	return s.create(c, created)
}

// admitUpdate does the same with an object that is to replace another. A pod keeps its priority.
func (s *store) admitUpdate(c *collection, updated object) (object, error) {
	updated.SetNamespace(c.namespaceOf(updated.GetNamespace()))
	current, err := c.get(updated.GetNamespace(), updated.GetName())
	if err != nil {
		return nil, err
	}
	if pod, ok := updated.(*v1.Pod); ok {
		before := current.(*v1.Pod)
		if pod.Spec.Priority == nil {
			pod.Spec.Priority, pod.Spec.PriorityClassName = before.Spec.Priority, before.Spec.PriorityClassName
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = before.Spec.PreemptionPolicy
		}
		if pod.Spec.NodeName == before.Spec.NodeName && pod.Status.StartTime == nil {
			pod.Status.StartTime = before.Status.StartTime
		}
	}
	if err := s.complete(c, updated); err != nil {
		return nil, err
	}
	return s.update(c, updated, wholeObject)
}

// complete sets defaults.
func (s *store) complete(c *collection, created object) error {
	clearType(created)
	created.SetNamespace(c.namespaceOf(created.GetNamespace()))
	setDefaults(created)
	if pod, ok := created.(*v1.Pod); ok {
		return s.admitPod(pod)
	}
	return nil
}

// SetDefaults sets the defaults of an API server that follow from an object alone, such as what its containers request if they
// are only limited. Objects of kinds that scheduling does not read are left as they are.
func SetDefaults(created apiruntime.Object) {
	if o, ok := created.(object); ok {
		setDefaults(o)
	}
}

// setDefaults sets the defaults that follow from an object alone. It writes nothing to pods and nodes that have them, so
// that copies of these may share what they were made of.
func setDefaults(created object) {
	switch typed := created.(type) {
	case *v1.Pod:
		defaultPod(typed)
	case *v1.Node:
		defaultAllocatable(typed)
	case *v1.Namespace:
		metav1.SetMetaDataLabel(&typed.ObjectMeta, v1.LabelMetadataName, typed.Name)
	case *v1.PersistentVolumeClaim:
		typed.Spec.VolumeMode = ptr.To(ptr.Deref(typed.Spec.VolumeMode, v1.PersistentVolumeFilesystem))
		if typed.Status.Phase == "" {
			typed.Status.Phase = v1.ClaimPending
		}
	case *v1.PersistentVolume:
		typed.Spec.VolumeMode = ptr.To(ptr.Deref(typed.Spec.VolumeMode, v1.PersistentVolumeFilesystem))
		if typed.Status.Phase == "" {
			typed.Status.Phase = v1.VolumeAvailable // as the controller of volumes says; claims only get those
		}
	case *resourceapi.ResourceClaim:
		defaultDeviceRequests(&typed.Spec)
	case *storagev1.StorageClass:
		typed.VolumeBindingMode = ptr.To(ptr.Deref(typed.VolumeBindingMode, storagev1.VolumeBindingImmediate))
	}
}

// implyNamespace creates the namespace that an object is in, unless it is there.
func (s *store) implyNamespace(name string) {
	c := s.of(v1.SchemeGroupVersion.WithKind("Namespace"))
	if c.objects[name] != nil {
		return
	}
	s.implied[name] = true
	// It can't fail: the name is given and free.
	_, _ = s.create(c, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   name,
		Labels: map[string]string{v1.LabelMetadataName: name},
	}})
}

// replaceImplied lets a namespace take the place of one that was only implied.
func (s *store) replaceImplied(c *collection, namespace *v1.Namespace) (object, bool) {
	if !s.implied[namespace.Name] {
		return nil, false
	}
	delete(s.implied, namespace.Name)
	namespace.UID, namespace.ResourceVersion = "", ""
	replaced, err := s.update(c, namespace, wholeObject)
	return replaced, err == nil
}

// defaultAllocatable lets a node offer everything it has.
func defaultAllocatable(node *v1.Node) {
	if node.Status.Allocatable == nil && node.Status.Capacity != nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

func (s *store) admitPod(pod *v1.Pod) error {
	if pod.Spec.NodeName != "" && pod.Status.StartTime == nil {
		pod.Status.StartTime = ptr.To(metav1.NewTime(s.clock.Now()).Rfc3339Copy())
	}
	return s.resolvePriority(pod)
}

func defaultPod(pod *v1.Pod) {
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodPending
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			defaultContainer(&containers[i], pod.Spec.HostNetwork)
		}
	}
	if pod.Spec.Resources != nil {
		defaultRequests(pod.Spec.Resources)
	}
	mergeMatchLabelKeys(pod)
}

func defaultContainer(container *v1.Container, hostNetwork bool) {
	defaultRequests(&container.Resources)
	for i := range container.Ports {
		port := &container.Ports[i]
		if port.Protocol == "" {
			port.Protocol = v1.ProtocolTCP
		}
		if hostNetwork && port.HostPort == 0 {
			port.HostPort = port.ContainerPort
		}
	}
}

// defaultRequests lets a container request what it is limited to, resource by resource.
func defaultRequests(resources *v1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, requested := resources.Requests[name]; requested {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = make(v1.ResourceList, len(resources.Limits))
		}
		resources.Requests[name] = limit.DeepCopy()
	}
}

// mergeMatchLabelKeys writes the label keys of affinity terms into their selectors, which is what schedulers read.
func mergeMatchLabelKeys(pod *v1.Pod) {
	if pod.Spec.Affinity == nil {
		return
	}
	if affinity := pod.Spec.Affinity.PodAffinity; affinity != nil {
		mergeTerms(pod, affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity.PodAntiAffinity; affinity != nil {
		mergeTerms(pod, affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func mergeTerms(pod *v1.Pod, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
	for i := range required {
		mergeTerm(pod, &required[i])
	}
	for i := range preferred {
		mergeTerm(pod, &preferred[i].PodAffinityTerm)
	}
}

func mergeTerm(pod *v1.Pod, term *v1.PodAffinityTerm) {
	if term.LabelSelector == nil {
		return
	}
	add := func(keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			value, labelled := pod.Labels[key]
			if !labelled || hasRequirement(term.LabelSelector, key, operator, value) {
				continue
			}
			term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
		}
	}
	add(term.MatchLabelKeys, metav1.LabelSelectorOpIn)
	add(term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
}

// hasRequirement reports whether an API server merged the key before: the pod may come out of a real cluster.
func hasRequirement(selector *metav1.LabelSelector, key string, operator metav1.LabelSelectorOperator, value string) bool {
	for _, r := range selector.MatchExpressions {
		if r.Key == key && r.Operator == operator && len(r.Values) == 1 && r.Values[0] == value {
			return true
		}
	}
	return false
}

// resolvePriority gives a pod the priority of its class, or of the default class.
func (s *store) resolvePriority(pod *v1.Pod) error {
	if pod.Spec.Priority != nil {
		return nil
	}
	class, err := s.priorityClass(pod.Spec.PriorityClassName)
	if err != nil || class == nil {
		return err
	}
	pod.Spec.PriorityClassName = class.Name
	pod.Spec.Priority = &class.Value
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = class.PreemptionPolicy
	}
	return nil
}

// priorityClass finds a class by name, for the empty name the default one, which may not exist.
func (s *store) priorityClass(name string) (*schedulingv1.PriorityClass, error) {
	switch name {
	case "system-cluster-critical":
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 2_000_000_000}, nil
	case "system-node-critical":
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 2_000_001_000}, nil
	}
	c := s.of(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	if name != "" {
		if found := c.objects[name]; found != nil {
			return found.(*schedulingv1.PriorityClass).DeepCopy(), nil
		}
		return nil, apierrors.NewForbidden(s.pods().resource.GroupResource(), "",
			fmt.Errorf("no PriorityClass with name %s was found; create it first or set spec.priority", name))
	}
	var best *schedulingv1.PriorityClass
	for _, found := range c.sorted("") {
		class := found.(*schedulingv1.PriorityClass)
		if class.GlobalDefault && (best == nil || class.Value < best.Value) {
			best = class.DeepCopy()
		}
	}
	return best, nil
}
