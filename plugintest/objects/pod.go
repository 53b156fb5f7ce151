// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// PodBuilder makes a pod. Its methods return a changed copy and leave the builder as it is, so that several pods can be
// made from one beginning:
//
//	web := objects.Pod("web").Label("app", "web").Requests("cpu", "1")
//	waiting, running := web.Build(), web.Node("n1").Build()
//
// Methods that add something may be called repeatedly. Those that read a text, such as a quantity, panic if it is
// wrong, as the mistake is in the source of the test. Make a builder with [Pod] or [PodFrom].
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

// PodFrom begins with a later version of a pod: a copy whose resource version is one higher.
func PodFrom(pod *v1.Pod) PodBuilder {
	return PodBuilder{pod}.With(func(pod *v1.Pod) {
		version, _ := strconv.Atoi(pod.ResourceVersion)
		pod.ResourceVersion = strconv.Itoa(version + 1)
	})
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

// With changes the pod in ways that the builder has no method for.
func (b PodBuilder) With(changes ...func(pod *v1.Pod)) PodBuilder {
	if b.pod == nil {
		b = Pod("")
	}
	changed := b.pod.DeepCopy()
	for _, change := range changes {
		change(changed)
	}
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

// Container adds a container that requests resources, given as pairs of a name and a quantity, such as "cpu", "500m".
// Requests, Image and the methods for ports are about the container that was added last; without any they begin one called
// main.
func (b PodBuilder) Container(name string, requests ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, newContainer(name, requests))
	})
}

// InitContainer adds a container that ends before the others start.
func (b PodBuilder) InitContainer(name string, requests ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, newContainer(name, requests))
	})
}

// Sidecar adds an init container that keeps running next to the others.
func (b PodBuilder) Sidecar(name string, requests ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		sidecar := newContainer(name, requests)
		sidecar.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecar)
	})
}

// Requests has the container request resources, given as pairs of a name and a quantity, such as "cpu", "500m".
func (b PodBuilder) Requests(pairs ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) { setQuantities(&container(pod).Resources.Requests, pairs) })
}

// PodRequests sets what the pod as a whole requests, whatever its containers do.
func (b PodBuilder) PodRequests(pairs ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		if pod.Spec.Resources == nil {
			pod.Spec.Resources = &v1.ResourceRequirements{}
		}
		setQuantities(&pod.Spec.Resources.Requests, pairs)
	})
}

// Overhead sets what the pod takes in addition to its containers.
func (b PodBuilder) Overhead(pairs ...string) PodBuilder {
	return b.With(func(pod *v1.Pod) { setQuantities(&pod.Spec.Overhead, pairs) })
}

// Image sets the image of the container.
func (b PodBuilder) Image(image string) PodBuilder {
	return b.With(func(pod *v1.Pod) { container(pod).Image = image })
}

// HostPort has the container listen on a TCP port of its node.
func (b PodBuilder) HostPort(port int32) PodBuilder {
	return b.ContainerPort(v1.ContainerPort{ContainerPort: port, HostPort: port, Protocol: v1.ProtocolTCP})
}

// ContainerPort adds ports to the container.
func (b PodBuilder) ContainerPort(ports ...v1.ContainerPort) PodBuilder {
	return b.With(func(pod *v1.Pod) { container(pod).Ports = append(container(pod).Ports, ports...) })
}

// Volume adds a volume.
func (b PodBuilder) Volume(name string, source v1.VolumeSource) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
	})
}

// PersistentVolumeClaim mounts claims of the pod's namespace, as volumes of the same names.
func (b PodBuilder) PersistentVolumeClaim(names ...string) PodBuilder {
	for _, name := range names {
		b = b.Volume(name, v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
	}
	return b
}

// EphemeralVolume adds a generic ephemeral volume, whose claim is called like the pod and the volume: pod-volume.
func (b PodBuilder) EphemeralVolume(name string) PodBuilder {
	return b.Volume(name, v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}})
}

// ResourceClaim has the pod use a claim of its namespace, by the same name.
func (b PodBuilder) ResourceClaim(name string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	})
}

// Tolerates has the pod tolerate the taint that [NodeBuilder.Taint] makes of the same arguments.
func (b PodBuilder) Tolerates(key, value string, effect v1.TaintEffect) PodBuilder {
	return b.Toleration(v1.Toleration{Key: key, Operator: v1.TolerationOpEqual, Value: value, Effect: effect})
}

// Toleration adds tolerations.
func (b PodBuilder) Toleration(tolerations ...v1.Toleration) PodBuilder {
	return b.With(func(pod *v1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, tolerations...) })
}

// container returns the last container of a pod, which it adds if there is none.
func container(pod *v1.Pod) *v1.Container {
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []v1.Container{{Name: "main"}}
	}
	return &pod.Spec.Containers[len(pod.Spec.Containers)-1]
}

func newContainer(name string, requests []string) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: Resources(requests...)}}
}
