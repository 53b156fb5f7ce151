// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// newPlugin builds the plugin for a cluster with the given objects, whose nodes are those given.
func newPlugin(tb testing.TB, nodes []*framework.NodeInfo, objects ...apiruntime.Object) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), nil, &fixture.Handle{
		Informers: fixture.Informers(tb, objects...),
		Nodes:     fixture.Nodes{Infos: nodes},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func TestNewWithoutInformers(t *testing.T) {
	_, err := New(t.Context(), nil, &fixture.Handle{})
	if err == nil || !strings.Contains(err.Error(), "InformerFactory") {
		t.Errorf("got error %v, want one that says what to set", err)
	}
}

// with returns a pod with one volume.
func with(source v1.VolumeSource) *v1.Pod { return objects.Pod("p").Volume("vol", source).Build() }

func gce(name string, readOnly bool) *v1.Pod {
	return with(v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}})
}

func ebs(id string, readOnly bool) *v1.Pod {
	return with(v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: readOnly}})
}

func iscsi(portal, iqn string, readOnly bool) *v1.Pod {
	return with(v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{TargetPortal: portal, IQN: iqn, ReadOnly: readOnly}})
}

// rbd returns a pod with an RBD image; monitors are separated by commas.
func rbd(monitors, pool, image string, readOnly bool) *v1.Pod {
	return with(v1.VolumeSource{RBD: &v1.RBDVolumeSource{
		CephMonitors: strings.Split(monitors, ","), RBDPool: pool, RBDImage: image, ReadOnly: readOnly,
	}})
}

func claiming(claims ...string) *v1.Pod {
	return objects.Pod("p").PersistentVolumeClaim(claims...).Build()
}

// elsewhere moves a pod to another namespace.
func elsewhere(pod *v1.Pod) *v1.Pod {
	pod.Namespace = "elsewhere"
	return pod
}
