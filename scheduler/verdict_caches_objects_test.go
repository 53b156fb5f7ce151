// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/internal/csi"
)

// directInformer is an informer without an API server: its handlers run in the goroutine that changes an object.
type directInformer struct {
	clientcache.SharedIndexInformer
	handlers []*directRegistration
}

type directRegistration struct {
	clientcache.ResourceEventHandlerRegistration
	clientcache.ResourceEventHandler
}

// HasSyncedChecker implements clientcache.ResourceEventHandlerRegistration: the informer has nothing that it does not tell.
func (*directRegistration) HasSyncedChecker() clientcache.DoneChecker { return syncedAlways{} }

type syncedAlways struct{}

func (syncedAlways) Name() string { return "direct informer" }

func (syncedAlways) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (i *directInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	registration := &directRegistration{ResourceEventHandler: handler}
	i.handlers = append(i.handlers, registration)
	return registration, nil
}

func (i *directInformer) RemoveEventHandler(handle clientcache.ResourceEventHandlerRegistration) error {
	i.handlers = slices.DeleteFunc(i.handlers, func(r *directRegistration) bool { return r == handle })
	return nil
}

// directObjects are the objects of a cluster that are neither nodes nor pods.
type directObjects struct {
	informers.SharedInformerFactory
	byType map[reflect.Type]*directInformer
}

func newDirectObjects(client clientset.Interface) *directObjects {
	plain := informers.NewSharedInformerFactory(client, 0)
	o := &directObjects{informers.NewSharedInformerFactory(client, 0), map[reflect.Type]*directInformer{}}
	for example, informer := range map[apiruntime.Object]clientcache.SharedIndexInformer{
		&v1.Namespace{}:                 plain.Core().V1().Namespaces().Informer(),
		&v1.Service{}:                   plain.Core().V1().Services().Informer(),
		&v1.PersistentVolume{}:          plain.Core().V1().PersistentVolumes().Informer(),
		&v1.PersistentVolumeClaim{}:     plain.Core().V1().PersistentVolumeClaims().Informer(),
		&appsv1.ReplicaSet{}:            plain.Apps().V1().ReplicaSets().Informer(),
		&storagev1.StorageClass{}:       plain.Storage().V1().StorageClasses().Informer(),
		&storagev1.CSINode{}:            plain.Storage().V1().CSINodes().Informer(),
		&storagev1.CSIDriver{}:          plain.Storage().V1().CSIDrivers().Informer(),
		&storagev1.CSIStorageCapacity{}: plain.Storage().V1().CSIStorageCapacities().Informer(),
		&storagev1.VolumeAttachment{}:   plain.Storage().V1().VolumeAttachments().Informer(),
		&resourceapi.ResourceClaim{}:    plain.Resource().V1().ResourceClaims().Informer(),
		&resourceapi.ResourceSlice{}:    plain.Resource().V1().ResourceSlices().Informer(),
		&resourceapi.DeviceClass{}:      plain.Resource().V1().DeviceClasses().Informer(),
		&resourceapi.DeviceTaintRule{}:  plain.Resource().V1().DeviceTaintRules().Informer(),
	} {
		own := &directInformer{SharedIndexInformer: informer}
		o.byType[reflect.TypeOf(example)] = own
		o.InformerFor(example, func(clientset.Interface, time.Duration) clientcache.SharedIndexInformer { return own })
	}
	return o
}

// follow has a manager hear of what changes.
func (o *directObjects) follow(manager *csi.Manager) {
	nothing := clientcache.ResourceEventHandlerFuncs{}
	for kind, example := range map[fwk.EventResource]apiruntime.Object{
		fwk.PersistentVolume: &v1.PersistentVolume{}, fwk.PersistentVolumeClaim: &v1.PersistentVolumeClaim{},
		fwk.StorageClass: &storagev1.StorageClass{}, fwk.CSINode: &storagev1.CSINode{}, fwk.VolumeAttachment: &storagev1.VolumeAttachment{},
		fwk.CSIStorageCapacity: &storagev1.CSIStorageCapacity{},
	} {
		if informer := o.byType[reflect.TypeOf(example)]; manager.Follows(kind) {
			informer.handlers = append(informer.handlers, &directRegistration{ResourceEventHandler: manager.Handler(kind, nothing)})
		}
	}
}

// change stores an object, or removes the one of its name.
func (o *directObjects) change(object apiruntime.Object, remove bool) error {
	informer := o.byType[reflect.TypeOf(object)]
	old, found, err := informer.GetIndexer().Get(object)
	switch {
	case err != nil:
		return err
	case remove && !found:
		return nil
	case remove:
		err = informer.GetIndexer().Delete(object)
	default:
		err = informer.GetIndexer().Update(object)
	}
	for _, handler := range informer.handlers {
		switch {
		case remove:
			handler.OnDelete(old)
		case found:
			handler.OnUpdate(old, object)
		default:
			handler.OnAdd(object, false)
		}
	}
	return err
}

// changeObject adds, replaces or removes an object that plugins look up, and that no node has anything to do with.
func (c *comparison) changeObject() {
	c.put(c.object(), c.random.IntN(4) == 0)
}

// put stores an object as a new version, or removes the one of its name.
func (c *comparison) put(object apiruntime.Object, remove bool) {
	c.made++
	accessor := object.(metav1.Object)
	accessor.SetResourceVersion(fmt.Sprint(c.made))
	if accessor.GetUID() == "" { // which is another one when it comes again
		accessor.SetUID(types.UID(fmt.Sprintf("object-%d", c.made)))
	}
	c.check(c.objects.change(object, remove))
}

func (c *comparison) object() apiruntime.Object {
	r := c.random
	namespace := c.someNamespace()
	app := map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
	kind := r.IntN(12)
	if c.volumes {
		kind = 3 + r.IntN(9)
	}
	switch kind {
	case 0:
		team := []map[string]string{nil, {"team": "a"}, {"team": "b"}}[r.IntN(3)]
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: team}}
	case 1:
		return &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("s%d", r.IntN(2))}, Spec: v1.ServiceSpec{Selector: app}}
	case 2:
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("r%d", r.IntN(2))},
			Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: app}},
		}
	case 3:
		return &storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: c.someDriver()},
			Spec:       storagev1.CSIDriverSpec{StorageCapacity: ptr.To(r.IntN(2) == 0), PreventPodSchedulingIfMissing: ptr.To(r.IntN(2) == 0)},
		}
	case 4:
		return &storagev1.CSIStorageCapacity{
			ObjectMeta:       metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("room-%d", r.IntN(3))},
			StorageClassName: "on-demand", NodeTopology: &metav1.LabelSelector{MatchLabels: c.someZone()},
			Capacity: resource.NewQuantity(int64(r.IntN(3))<<30, resource.BinarySI),
		}
	case 5:
		return c.volumeAttachment()
	case 6:
		return c.csiNode()
	case 7:
		return c.storageClass()
	case 8, 9:
		return c.volume()
	default:
		return c.claim(namespace)
	}
}

const (
	csiDriver  = "csi.example.com"
	diskDriver = "pd.csi.storage.gke.io" // has taken volumes of diskPlugin over
	diskPlugin = "kubernetes.io/gce-pd"
	// claimCount is how many claims a namespace has, and volumeCount how many volumes there are for all of them.
	claimCount, volumeCount = 4, 8
)

func (c *comparison) someDriver() string { return []string{csiDriver, diskDriver}[c.random.IntN(2)] }

func (c *comparison) someNamespace() string { return []string{"default", "shop"}[c.random.IntN(2)] }

func (c *comparison) someZone() map[string]string {
	return map[string]string{v1.LabelTopologyZone: fmt.Sprintf("z%d", c.random.IntN(3))}
}

func (c *comparison) volumeAttachment() *storagev1.VolumeAttachment {
	r := c.random
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attachment-%d", r.IntN(6))},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: c.someDriver(), NodeName: fmt.Sprintf("n%d", r.IntN(14)),
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(fmt.Sprintf("volume-%d", r.IntN(volumeCount)))},
		},
	}
}

func (c *comparison) csiNode() *storagev1.CSINode {
	r := c.random
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", r.IntN(14))}}
	if r.IntN(2) == 0 {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/cinder," + diskPlugin}
	}
	for _, name := range []string{csiDriver, diskDriver} {
		driver := storagev1.CSINodeDriver{Name: name, NodeID: node.Name}
		if r.IntN(3) > 0 {
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(1 + r.Int32N(3))}
		}
		if r.IntN(4) > 0 {
			node.Spec.Drivers = append(node.Spec.Drivers, driver)
		}
	}
	return node
}

func (c *comparison) storageClass() *storagev1.StorageClass {
	r := c.random
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: []string{"on-demand", "local"}[r.IntN(2)]},
		Provisioner: []string{csiDriver, csiDriver, diskDriver, diskPlugin}[r.IntN(4)], VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if class.Name == "local" {
		class.Provisioner = "kubernetes.io/no-provisioner"
	}
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(2) {
			class.AllowedTopologies = append(class.AllowedTopologies, v1.TopologySelectorTerm{
				MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{
					Key: v1.LabelTopologyZone, Values: []string{fmt.Sprintf("z%d", r.IntN(3)), fmt.Sprintf("z%d", r.IntN(3))},
				}},
			})
		}
	}
	return class
}

// volume returns a volume that is free, or bound to the claim of its number.
func (c *comparison) volume() *v1.PersistentVolume {
	r, i := c.random, c.random.IntN(volumeCount)
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i)},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName: []string{"on-demand", "local"}[i%2], AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Capacity: v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(1<<30+int64(i), resource.BinarySI)},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	switch r.IntN(6) {
	case 0:
		volume.Spec.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprintf("disk-%d", r.IntN(3))}
	case 1: // the disk of another one too
		volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: "shared"}
	default:
		volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: c.someDriver(), VolumeHandle: volume.Name}
	}
	switch r.IntN(5) {
	case 0:
		volume.Labels = c.someZone()
	case 2: // of which nodes say nothing
		volume.Labels = map[string]string{v1.LabelTopologyRegion: fmt.Sprintf("z%d", r.IntN(3))}
	case 1:
		volume.Labels = map[string]string{v1.LabelTopologyZone: fmt.Sprintf("z%d__z%d", r.IntN(3), r.IntN(3))}
	}
	if r.IntN(2) == 0 {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{
				Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("z%d", r.IntN(3))},
			}},
		}}}}
	}
	if r.IntN(2) == 0 {
		namespace := []string{"default", "shop"}[i/4]
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: namespace, Name: fmt.Sprintf("claim-%d", i%4), UID: claimUID(namespace, i%4)}
		volume.Status.Phase = v1.VolumeBound
	}
	return volume
}

func claimUID(namespace string, i int) types.UID {
	return types.UID(fmt.Sprintf("%s-claim-%d", namespace, i))
}

// claim returns a claim that waits for a pod, or is bound to the volume of its number.
func (c *comparison) claim(namespace string) *v1.PersistentVolumeClaim {
	r, i := c.random, c.random.IntN(claimCount)
	number := i
	if namespace == "shop" {
		number += 4
	}
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("claim-%d", i), UID: claimUID(namespace, i)},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To([]string{"on-demand", "local"}[number%2]), AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
	if r.IntN(3) == 0 {
		claim.Spec.AccessModes[0] = v1.ReadWriteOncePod
	}
	if r.IntN(8) == 0 {
		claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": fmt.Sprintf("n%d", r.IntN(14))}
	}
	if r.IntN(3) == 0 {
		claim.Spec.Resources.Requests[v1.ResourceStorage] = resource.MustParse([]string{"512Mi", "2Gi"}[r.IntN(2)])
	}
	if r.IntN(2) > 0 {
		claim.Spec.VolumeName, claim.Status.Phase = fmt.Sprintf("volume-%d", number), v1.ClaimBound
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	return claim
}
