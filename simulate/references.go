// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// KubectlResources is what to ask of a cluster to simulate it: kubectl get KubectlResources -A -o yaml prints an input with
// everything of the cluster that the scheduler and the in-tree plugins read.
const KubectlResources = "nodes,pods,ns,pv,pvc,sc,csidrivers,csinodes,csistoragecapacities,volumeattachments,svc,rc,rs,sts,pdb,pc," +
	"deviceclasses,devicetaintrules,resourceclaims,resourceclaimtemplates,resourceslices"

// references finds the names in an input under which the input has no object. Such input is legal, but pods will wait for
// these objects, or are placed as if the objects did not matter.
type references struct {
	loader *loader
	// present has every object of the input, except pods, by kind and name, namespaces those with an object in them, and volumeClasses
	// the storage classes that volumes name.
	present       map[string]bool
	namespaces    map[string]bool
	volumeClasses map[string]bool
	// missing has the first name of each kind under which there is no object, and seen every such name.
	missing map[string]*warning
	seen    map[string]bool
	// fromCluster reports whether a pod of the input was read from a cluster, selecting whether pods select namespaces by labels.
	fromCluster, selecting bool
}

// warnOfMissing adds a warning for each kind of which objects are named that the input does not have.
func (l *loader) warnOfMissing() {
	r := &references{
		loader: l, present: map[string]bool{}, namespaces: map[string]bool{}, volumeClasses: map[string]bool{},
		missing: map[string]*warning{}, seen: map[string]bool{},
	}
	for _, visit := range []func(source, object){r.note, r.check, r.checkNamespace} {
		for _, loaded := range l.input.objects {
			visit(loaded.source, loaded.object)
		}
		for _, scenario := range l.input.scenarios {
			for _, step := range scenario.Steps {
				if step.object != nil {
					visit(step.source.field(string(actionCreate)), step.object)
				}
			}
		}
	}
	if r.fromCluster && len(r.missing) > 0 {
		text := "the cluster has more than the input; kubectl get " + KubectlResources + " -A -o yaml prints everything that is read"
		if r.missing["Namespace"] != nil && !r.present["PodDisruptionBudget"] {
			text = "the input has no PodDisruptionBudget, and preemption respects none; " + text
		}
		l.warnings = append(l.warnings, &warning{text: text})
	}
}

// note remembers an object of the input.
func (r *references) note(_ source, o object) {
	r.namespaces[o.GetNamespace()] = true
	if pod, ok := o.(*v1.Pod); ok { // nothing names pods, and there are many
		r.fromCluster = r.fromCluster || pod.ResourceVersion != ""
		return
	}
	if volume, ok := o.(*v1.PersistentVolume); ok {
		r.volumeClasses[volume.Spec.StorageClassName] = true
	}
	gvk := kindOf(o)
	r.present[gvk.Kind] = true
	r.present[r.key(gvk, o.GetNamespace(), o.GetName())] = true
}

func (*references) key(gvk schema.GroupVersionKind, namespace, name string) string {
	return gvk.GroupKind().String() + " " + keyOf(namespace, name)
}

// check looks up what an object names.
func (r *references) check(from source, o object) {
	switch o := o.(type) {
	case *v1.Pod:
		if unfinishedPod(o) {
			r.checkPod(from, o)
		}
	case *v1.PersistentVolumeClaim:
		volume, class := o.Spec.VolumeName, ptr.Deref(o.Spec.StorageClassName, "")
		r.want(from, "spec.volumeName", v1.SchemeGroupVersion.WithKind("PersistentVolume"), "", volume)
		if volume == "" && !r.volumeClasses[class] {
			r.want(from, "spec.storageClassName", storagev1.SchemeGroupVersion.WithKind("StorageClass"), "", class)
		}
	case *resourceapi.ResourceClaim:
		if o.Status.Allocation == nil {
			r.checkDevices(from, "spec", &o.Spec)
		}
	case *resourceapi.ResourceClaimTemplate:
		r.checkDevices(from, "spec.spec", &o.Spec.Spec)
	}
}

func (r *references) checkPod(from source, pod *v1.Pod) {
	for i := range pod.Spec.Volumes {
		volume, field := &pod.Spec.Volumes[i], "spec.volumes"+indexed(i)
		claim := v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
		switch {
		case volume.PersistentVolumeClaim != nil:
			r.want(from, field+".persistentVolumeClaim.claimName", claim, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil && pod.Name != "":
			r.want(from, field+".ephemeral", claim, pod.Namespace, pod.Name+"-"+volume.Name)
		}
	}
	made := map[string]bool{} // from templates, before the input was written
	for i, status := range pod.Status.ResourceClaimStatuses {
		made[status.Name] = true
		r.want(from, "status.resourceClaimStatuses"+indexed(i)+".resourceClaimName",
			resourceapi.SchemeGroupVersion.WithKind("ResourceClaim"), pod.Namespace, ptr.Deref(status.ResourceClaimName, ""))
	}
	for i, claim := range pod.Spec.ResourceClaims {
		field := "spec.resourceClaims" + indexed(i)
		r.want(from, field+".resourceClaimName",
			resourceapi.SchemeGroupVersion.WithKind("ResourceClaim"), pod.Namespace, ptr.Deref(claim.ResourceClaimName, ""))
		if !made[claim.Name] {
			r.want(from, field+".resourceClaimTemplateName",
				resourceapi.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), pod.Namespace, ptr.Deref(claim.ResourceClaimTemplateName, ""))
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil {
		r.checkAffinity(from, affinity)
	}
}

func (r *references) checkAffinity(from source, affinity *v1.Affinity) {
	check := func(field string, required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		for i := range required {
			r.checkTerm(from, field+".requiredDuringSchedulingIgnoredDuringExecution"+indexed(i), &required[i])
		}
		for i := range preferred {
			r.checkTerm(from, field+".preferredDuringSchedulingIgnoredDuringExecution"+indexed(i)+".podAffinityTerm", &preferred[i].PodAffinityTerm)
		}
	}
	if affinity := affinity.PodAffinity; affinity != nil {
		check("spec.affinity.podAffinity", affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := affinity.PodAntiAffinity; affinity != nil {
		check("spec.affinity.podAntiAffinity", affinity.RequiredDuringSchedulingIgnoredDuringExecution, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

// checkTerm looks up the namespaces of a term. One that has an object in it exists.
func (r *references) checkTerm(from source, field string, term *v1.PodAffinityTerm) {
	selector := term.NamespaceSelector
	r.selecting = r.selecting || selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
	for i, namespace := range term.Namespaces {
		if !r.namespaces[namespace] {
			r.want(from, field+".namespaces"+indexed(i), v1.SchemeGroupVersion.WithKind("Namespace"), "", namespace)
		}
	}
}

func (r *references) checkDevices(from source, field string, spec *resourceapi.ResourceClaimSpec) {
	class := resourceapi.SchemeGroupVersion.WithKind("DeviceClass")
	for i := range spec.Devices.Requests {
		request, field := &spec.Devices.Requests[i], field+".devices.requests"+indexed(i)
		if request.Exactly != nil {
			r.want(from, field+".exactly.deviceClassName", class, "", request.Exactly.DeviceClassName)
		}
		for j, alternative := range request.FirstAvailable {
			r.want(from, field+".firstAvailable"+indexed(j)+".deviceClassName", class, "", alternative.DeviceClassName)
		}
	}
}

// checkNamespace looks up the namespace of a pod, where that makes a difference: the labels of namespaces are selected, or
// a cluster has the namespace with labels that are not known. Scenarios need not write their namespaces down.
func (r *references) checkNamespace(from source, o object) {
	pod, ok := o.(*v1.Pod)
	if ok && (r.fromCluster || r.selecting && pod.Namespace != v1.NamespaceDefault) {
		r.want(from, "metadata.namespace", v1.SchemeGroupVersion.WithKind("Namespace"), "", pod.Namespace)
	}
}

// want warns if the input has no object of a name that is not empty, once for each kind.
func (r *references) want(from source, field string, gvk schema.GroupVersionKind, namespace, name string) {
	key := r.key(gvk, namespace, name)
	if name == "" || r.present[key] || r.seen[key] {
		return
	}
	r.seen[key] = true
	if first := r.missing[gvk.Kind]; first != nil {
		first.others++
		return
	}
	k := kind{GroupVersionKind: gvk}
	text := from.field(field).errorf("the input has no %s", k.describe(namespace, name)).Error()
	r.missing[gvk.Kind] = &warning{text: text, more: "%s, nor %d others that are named"}
	r.loader.warnings = append(r.loader.warnings, r.missing[gvk.Kind])
}
