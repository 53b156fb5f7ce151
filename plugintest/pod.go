// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodBuilder makes a pod. Its methods return a changed copy and leave the builder as it is, so that several pods can be
// made from one beginning:
//
//	web := plugintest.Pod("web").Label("app", "web").Requests("cpu", "1")
//	waiting, running := web.Build(), web.Node("n1").Build()
//
// Methods that add something may be called repeatedly. Those that read a text, such as a quantity, panic if it is
// wrong, as the mistake is in the source of the test. Make a builder with [Pod].
type PodBuilder struct {
	pod *v1.Pod
}

// Pod begins a pod of the given name in the namespace default, for the default scheduler.
func Pod(name string) PodBuilder {
	return PodBuilder{&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       v1.PodSpec{SchedulerName: v1.DefaultSchedulerName},
	}}
}

// Build returns the pod. A pod without containers gets one, and one without a UID gets namespace/name, so that the same
// pod has the same UID everywhere.
func (b PodBuilder) Build() *v1.Pod {
	return b.With(func(pod *v1.Pod) {
		container(pod)
		if pod.UID == "" {
			pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		}
	}).pod
}

// With changes the pod in a way that the builder has no method for.
func (b PodBuilder) With(change func(pod *v1.Pod)) PodBuilder {
	if b.pod == nil {
		b = Pod("")
	}
	changed := b.pod.DeepCopy()
	change(changed)
	return PodBuilder{changed}
}

// Name gives the pod another name.
func (b PodBuilder) Name(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Name = name })
}

// Namespace puts the pod into a namespace.
func (b PodBuilder) Namespace(namespace string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Namespace = namespace })
}

// UID gives the pod a UID other than namespace/name, as a pod has that takes the place of another of its name.
func (b PodBuilder) UID(uid types.UID) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.UID = uid })
}

// Label sets a label.
func (b PodBuilder) Label(key, value string) PodBuilder {
	return b.With(func(pod *v1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value) })
}

// Annotation sets an annotation.
func (b PodBuilder) Annotation(key, value string) PodBuilder {
	return b.With(func(pod *v1.Pod) { metav1.SetMetaDataAnnotation(&pod.ObjectMeta, key, value) })
}

// SchedulerName chooses the profile.
func (b PodBuilder) SchedulerName(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.SchedulerName = name })
}

// Priority sets the priority itself, without a class.
func (b PodBuilder) Priority(priority int32) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.Priority = &priority })
}

// PreemptionPolicy says whether the pod may push aside others.
func (b PodBuilder) PreemptionPolicy(policy v1.PreemptionPolicy) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = &policy })
}

// TerminationGracePeriod says how many seconds the pod takes to end when it is deleted.
func (b PodBuilder) TerminationGracePeriod(seconds int64) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds })
}

// SchedulingGate adds a gate.
func (b PodBuilder) SchedulingGate(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
	})
}

// Node puts the pod on a node. Without one it waits.
func (b PodBuilder) Node(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.NodeName = name })
}

// NominatedNode keeps room for the pod on a node.
func (b PodBuilder) NominatedNode(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Status.NominatedNodeName = name })
}

// Phase sets how far the pod is in its life.
func (b PodBuilder) Phase(phase v1.PodPhase) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Status.Phase = phase })
}

// Container adds a container. Requests, Limits, Image and HostPort are about the container that was added last; without
// any they begin one called main.
func (b PodBuilder) Container(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: name}) })
}

// Requests has the container request a quantity of a resource, such as "500m" of "cpu".
func (b PodBuilder) Requests(name v1.ResourceName, quantity string) PodBuilder {
	return b.With(func(pod *v1.Pod) { setQuantity(&container(pod).Resources.Requests, name, quantity) })
}

// Limits limits the container to a quantity of a resource. That is what the container requests, too, unless Requests
// says otherwise.
func (b PodBuilder) Limits(name v1.ResourceName, quantity string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		resources := &container(pod).Resources
		setQuantity(&resources.Limits, name, quantity)
		if _, requested := resources.Requests[name]; !requested {
			setQuantity(&resources.Requests, name, quantity)
		}
	})
}

// Image sets the image of the container.
func (b PodBuilder) Image(image string) PodBuilder {
	return b.With(func(pod *v1.Pod) { container(pod).Image = image })
}

// HostPort has the container listen on a TCP port of its node.
func (b PodBuilder) HostPort(port int32) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		c := container(pod)
		c.Ports = append(c.Ports, v1.ContainerPort{ContainerPort: port, HostPort: port, Protocol: v1.ProtocolTCP})
	})
}

// PersistentVolumeClaim mounts a claim of the pod's namespace.
func (b PodBuilder) PersistentVolumeClaim(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{
			Name: fmt.Sprintf("volume-%d", len(pod.Spec.Volumes)+1),
			VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			},
		})
	})
}

// Tolerates has the pod tolerate the taint that [NodeBuilder.Taint] makes of the same arguments.
func (b PodBuilder) Tolerates(key, value string, effect v1.TaintEffect) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations,
			v1.Toleration{Key: key, Operator: v1.TolerationOpEqual, Value: value, Effect: effect})
	})
}

// container returns the last container of a pod, which it adds if there is none.
func container(pod *v1.Pod) *v1.Container {
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []v1.Container{{Name: "main"}}
	}
	return &pod.Spec.Containers[len(pod.Spec.Containers)-1]
}

func setQuantity(list *v1.ResourceList, name v1.ResourceName, quantity string) {
	parsed, err := resource.ParseQuantity(quantity)
	if err != nil {
		panic(fmt.Sprintf("plugintest: %q is no quantity of %s: %v", quantity, name, err))
	}
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[name] = parsed
}
