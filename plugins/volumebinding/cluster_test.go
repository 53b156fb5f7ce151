// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	storagevolume "k8s.io/component-helpers/storage/volume"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

const bindTimeout = 100 * time.Second

// cluster is an API server with informers that follow it, and a pod that was reserved on node n, which is in zone a.
type cluster struct {
	t       *testing.T
	client  *fake.Clientset
	pl      *plugin
	pod     *v1.Pod
	state   fwk.CycleState
	version int
	// refuse has the errors with which the server answers updates, by resource and name.
	refuse map[string]error
	// updates are the updates that the plugin asked for, in order.
	updates []string
}

// newCluster must be called in a bubble of synctest. Its informers run; see [newStillCluster].
func newCluster(t *testing.T, pod *v1.Pod, objects ...apiruntime.Object) *cluster {
	t.Helper()
	c := newServer(t, pod, objects...)
	factory := informers.NewSharedInformerFactory(c.client, 0)
	c.build(factory)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	c.state = reserve(t, c.pl, c.pod)
	return c
}

// newStillCluster has informers that don't run. They know the objects, and what the test puts into the factory.
func newStillCluster(t *testing.T, pod *v1.Pod, objects ...apiruntime.Object) (*cluster, informers.SharedInformerFactory) {
	t.Helper()
	c := newServer(t, pod, objects...)
	factory := fixture.Informers(t, c.objects(objects)...)
	c.build(factory)
	c.state = reserve(t, c.pl, c.pod)
	return c, factory
}

func newServer(t *testing.T, pod *v1.Pod, objects ...apiruntime.Object) *cluster {
	c := &cluster{t: t, pod: pod, version: 10, refuse: map[string]error{}}
	c.client = fake.NewClientset(c.objects(objects)...)
	c.client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject()
		accessor, err := meta.Accessor(object)
		if err != nil {
			return true, nil, err
		}
		name := action.GetResource().Resource + "/" + accessor.GetName()
		c.updates = append(c.updates, name)
		if err := c.refuse[name]; err != nil {
			return true, nil, err
		}
		return true, object, c.put(action.GetResource(), object)
	})
	return c
}

func (c *cluster) objects(objects []apiruntime.Object) []apiruntime.Object {
	return append(append(classes(), c.pod), objects...)
}

func (c *cluster) build(factory informers.SharedInformerFactory) {
	args := &configv1.VolumeBindingArgs{
		BindTimeoutSeconds: ptr.To(int64(bindTimeout / time.Second)),
		Shape:              []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}},
	}
	c.pl = buildPlugin(c.t, args, &fixture.Handle{Informers: factory, Client: c.client})
}

// put stores a new version of an object.
func (c *cluster) put(resource schema.GroupVersionResource, object apiruntime.Object) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	c.version++
	accessor.SetResourceVersion(strconv.Itoa(c.version))
	return c.client.Tracker().Update(resource, object, accessor.GetNamespace())
}

func resourceOf(name string) schema.GroupVersionResource {
	return v1.SchemeGroupVersion.WithResource(name)
}

// claim changes a claim of the server.
func (c *cluster) claim(name string, changes ...func(*v1.PersistentVolumeClaim)) {
	c.t.Helper()
	object, err := c.client.Tracker().Get(resourceOf("persistentvolumeclaims"), "default", name)
	if err != nil {
		c.t.Fatal(err)
	}
	claim := object.(*v1.PersistentVolumeClaim).DeepCopy()
	for _, change := range changes {
		change(claim)
	}
	if err := c.put(resourceOf("persistentvolumeclaims"), claim); err != nil {
		c.t.Fatal(err)
	}
}

// volume changes a volume of the server.
func (c *cluster) volume(name string, changes ...func(*v1.PersistentVolume)) {
	c.t.Helper()
	object, err := c.client.Tracker().Get(resourceOf("persistentvolumes"), "", name)
	if err != nil {
		c.t.Fatal(err)
	}
	volume := object.(*v1.PersistentVolume).DeepCopy()
	for _, change := range changes {
		change(volume)
	}
	if err := c.put(resourceOf("persistentvolumes"), volume); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) create(volume *v1.PersistentVolume) {
	c.t.Helper()
	if err := c.client.Tracker().Create(resourceOf("persistentvolumes"), volume, ""); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) remove(resources, namespace, name string) {
	c.t.Helper()
	if err := c.client.Tracker().Delete(resourceOf(resources), namespace, name); err != nil {
		c.t.Fatal(err)
	}
}

// after lets something happen while the pod waits.
func (c *cluster) after(d time.Duration, do func()) {
	go func() {
		time.Sleep(d)
		do()
	}()
}

// preBind runs PreBind and returns its status, and how long it took.
func (c *cluster) preBind() (*fwk.Status, time.Duration) {
	start := time.Now()
	status := c.pl.PreBind(c.t.Context(), c.state, c.pod, "n")
	took := time.Since(start)
	synctest.Wait()
	return status, took
}

func boundTo(name string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.VolumeName, claim.Status.Phase = name, v1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagevolume.AnnBindCompleted, "yes")
	}
}

func annotated(annotations map[string]string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) { claim.Annotations = annotations }
}

// byController is the claim reference that a volume of claim c has.
func byController(volume *v1.PersistentVolume) {
	volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "c", UID: "default/c"}
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, "pv.kubernetes.io/bound-by-controller", "yes")
}
