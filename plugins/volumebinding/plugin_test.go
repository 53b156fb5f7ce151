// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// Classes and labels that the tests use.
const (
	waiting   = "waiting" // class with WaitForFirstConsumer, whose provisioner makes volumes
	static    = "static"  // class with WaitForFirstConsumer, whose volumes are made by hand
	immediate = "immediate"
	zone      = "zone" // label of nodes
)

// classes returns the storage classes that the tests use, and the node n in zone a.
func classes() []apiruntime.Object {
	noProvisioner := func(class *storagev1.StorageClass) { class.Provisioner = "kubernetes.io/no-provisioner" }
	return []apiruntime.Object{
		objects.StorageClass(waiting, "provisioner", storagev1.VolumeBindingWaitForFirstConsumer),
		storageClass(static, storagev1.VolumeBindingWaitForFirstConsumer, noProvisioner),
		objects.StorageClass(immediate, "provisioner", storagev1.VolumeBindingImmediate),
		objects.StorageClass("no-mode", "provisioner", ""),
		nodeIn("n", "a"),
	}
}

// newPlugin builds the plugin for a cluster with the objects and the classes of the tests.
func newPlugin(tb testing.TB, objects ...apiruntime.Object) *plugin {
	tb.Helper()
	return buildPlugin(tb, nil, &fixture.Handle{Informers: fixture.Informers(tb, append(classes(), objects...)...)})
}

func buildPlugin(tb testing.TB, args apiruntime.Object, handle fwk.Handle) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), args, handle)
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func TestNew(t *testing.T) {
	informers := fixture.Informers(t)
	shape := func(points ...configv1.UtilizationShapePoint) *configv1.VolumeBindingArgs {
		return &configv1.VolumeBindingArgs{BindTimeoutSeconds: ptr.To[int64](1), Shape: points}
	}
	tests := []struct {
		name    string
		args    apiruntime.Object
		handle  *fixture.Handle
		wantErr string
	}{
		{"no args", nil, &fixture.Handle{Informers: informers}, ""},
		{"shape", shape(configv1.UtilizationShapePoint{Utilization: 0, Score: 10}), &fixture.Handle{Informers: informers}, ""},
		{"no shape", shape(), &fixture.Handle{Informers: informers}, "shape"},
		{
			"shape that goes back", shape(configv1.UtilizationShapePoint{Utilization: 50}, configv1.UtilizationShapePoint{Utilization: 40}),
			&fixture.Handle{Informers: informers}, "shape",
		},
		{
			"negative timeout", &configv1.VolumeBindingArgs{
				BindTimeoutSeconds: ptr.To[int64](-1), Shape: []configv1.UtilizationShapePoint{{Score: 1}},
			},
			&fixture.Handle{Informers: informers}, "bindTimeoutSeconds",
		},
		{"args of another plugin", &configv1.NodeAffinityArgs{}, &fixture.Handle{Informers: informers}, "VolumeBindingArgs"},
		{"no informers", nil, &fixture.Handle{}, "InformerFactory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			built, err := New(t.Context(), tt.args, tt.handle)
			if tt.wantErr == "" {
				if err != nil {
					t.Fatalf("got error %v", err)
				}
				if err := built.(*plugin).Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("got error %v, want one with %q", err, tt.wantErr)
			}
		})
	}
}

// nodeIn returns a node whose zone label is set, unless the zone is empty.
func nodeIn(name, where string) *v1.Node {
	return objects.Node(name).With(func(node *v1.Node) {
		if where != "" {
			node.Labels = map[string]string{zone: where}
		}
	}).Build()
}

// storageClass returns a class with a provisioner, changed.
func storageClass(name string, mode storagev1.VolumeBindingMode, changes ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	class := objects.StorageClass(name, "provisioner", mode)
	for _, change := range changes {
		change(class)
	}
	return class
}

// volume returns an available volume of a class.
func volume(name, class, size string, changes ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	stored := func(volume *v1.PersistentVolume) { volume.ResourceVersion = "1" }
	return objects.PersistentVolume(name).StorageClass(class).Capacity(size).With(stored).With(changes...).Build()
}

// reachableFrom gives a volume a node affinity: the label must have the value.
func reachableFrom(label, value string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: label, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
}

// claimedBy names a claim in a volume, as a user does who wants it for this claim.
func claimedBy(claim string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: claim}
	}
}

// pending returns an unbound claim.
func pending(name, class, size string, changes ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	stored := func(claim *v1.PersistentVolumeClaim) { claim.ResourceVersion = "1" }
	return objects.PersistentVolumeClaim(name).StorageClass(class).Request(size).With(stored).With(changes...).Build()
}

// modes sets the access modes of a claim.
func modes(modes ...v1.PersistentVolumeAccessMode) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) { claim.Spec.AccessModes = modes }
}

// selected says that the volume of a claim is being made on a node.
func selected(node string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "volume.kubernetes.io/selected-node", node)
	}
}

func claiming(claims ...string) *v1.Pod {
	return objects.Pod("p").PersistentVolumeClaim(claims...).Build()
}

// csiDriver returns the driver of the provisioner of class waiting.
func csiDriver(storageCapacity *bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: "provisioner"},
		Spec:       storagev1.CSIDriverSpec{StorageCapacity: storageCapacity},
	}
}

// capacity says how much storage a class has in a zone; an empty size is not known, an empty zone can't be reached.
func capacity(name, class, where, size string) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Namespace: "storage", Name: name}, StorageClassName: class,
	}
	if where != "" {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{zone: where}}
	}
	if size != "" {
		c.Capacity = ptr.To(resource.MustParse(size))
	}
	return c
}

// filter runs PreFilter and Filter on nodes, and returns the state and the statuses by node.
func filter(t *testing.T, pl *plugin, pod *v1.Pod, nodes ...*v1.Node) (fwk.CycleState, map[string]*fwk.Status) {
	t.Helper()
	state := framework.NewCycleState()
	result, status := pl.PreFilter(t.Context(), state, pod, nil)
	if !status.IsSuccess() || result != nil {
		t.Fatalf("PreFilter: got status %v %q, result %v", status.Code(), status.Message(), result)
	}
	statuses := map[string]*fwk.Status{}
	for _, node := range nodes {
		statuses[node.Name] = pl.Filter(t.Context(), state.Clone(), pod, fixture.NodeInfo(node))
	}
	return state, statuses
}

func never(reasons ...string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons...)
}

const (
	nodeConflict = "node(s) didn't match PersistentVolume's node affinity"
	noVolume     = "node(s) didn't find available persistent volumes to bind"
	noCapacity   = "node(s) did not have enough free storage"
	volumeGone   = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
)
