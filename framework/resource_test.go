// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNewResource(t *testing.T) {
	tests := []struct {
		name string
		list v1.ResourceList
		want framework.Resource
	}{
		{name: "nil list"},
		{name: "empty list", list: v1.ResourceList{}},
		{
			name: "named resources",
			list: objects.Resources("cpu", "1500m", "memory", "1Ki", "ephemeral-storage", "2Ki", "pods", "110"),
			want: framework.Resource{MilliCPU: 1500, Memory: 1024, EphemeralStorage: 2048, AllowedPodNumber: 110},
		},
		{
			name: "rounded up",
			list: objects.Resources("cpu", "100u", "memory", "1500m", "ephemeral-storage", "1m", "example.com/gpu", "1500m"),
			want: framework.Resource{MilliCPU: 1, Memory: 2, EphemeralStorage: 1,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 2}},
		},
		{
			name: "scalars",
			list: objects.Resources("example.com/gpu", "3", "hugepages-2Mi", "4Mi", "attachable-volumes-csi-x", "7",
				"kubernetes.io/batch-cpu", "5", "sub.kubernetes.io/x", "6", "deviceclass.resource.kubernetes.io/d", "1"),
			want: framework.Resource{ScalarResources: map[v1.ResourceName]int64{
				"example.com/gpu": 3, "hugepages-2Mi": 4 << 20, "attachable-volumes-csi-x": 7,
				"kubernetes.io/batch-cpu": 5, "sub.kubernetes.io/x": 6, "deviceclass.resource.kubernetes.io/d": 1}},
		},
		{
			name: "an explicit zero is kept",
			list: objects.Resources("cpu", "0", "example.com/gpu", "0"),
			want: framework.Resource{ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 0}},
		},
		{
			name: "other names are ignored",
			list: objects.Resources("cores", "1", "requests.example.com/gpu", "2", "storage", "1Gi", "limits.cpu", "3", "bad name/x", "1"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, framework.NewResource(test.list)); diff != "" {
				t.Errorf("NewResource (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceAdd(t *testing.T) {
	r := framework.NewResource(objects.Resources("cpu", "1", "pods", "3", "example.com/gpu", "1"))
	r.Add(objects.Resources("cpu", "500m", "memory", "1Mi", "pods", "4", "example.com/gpu", "2", "example.com/fpga", "1", "ignored", "9"))
	want := &framework.Resource{MilliCPU: 1500, Memory: mebibyte, AllowedPodNumber: 7,
		ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 3, "example.com/fpga": 1}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("after Add (-want +got):\n%s", diff)
	}
	var none *framework.Resource
	none.Add(objects.Resources("cpu", "1")) // a nil vector takes nothing and must not panic
	none.SetMaxResource(objects.Resources("cpu", "1"))
}

func TestSetMaxResource(t *testing.T) {
	tests := []struct {
		name  string
		start v1.ResourceList
		list  v1.ResourceList
		want  framework.Resource
	}{
		{
			name: "raises an empty vector, pods left alone",
			list: objects.Resources("cpu", "2", "memory", "1Mi", "ephemeral-storage", "3", "pods", "9", "example.com/gpu", "2"),
			want: framework.Resource{MilliCPU: 2000, Memory: mebibyte, EphemeralStorage: 3,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 2}},
		},
		{
			name:  "takes the larger of each",
			start: objects.Resources("cpu", "3", "memory", "1", "ephemeral-storage", "5", "pods", "2", "example.com/gpu", "4", "hugepages-2Mi", "1"),
			list:  objects.Resources("cpu", "2", "memory", "2", "ephemeral-storage", "6", "pods", "9", "example.com/gpu", "3", "hugepages-2Mi", "2"),
			want: framework.Resource{MilliCPU: 3000, Memory: 2, EphemeralStorage: 6, AllowedPodNumber: 2,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 4, "hugepages-2Mi": 2}},
		},
		{
			name:  "lowers nothing",
			start: objects.Resources("cpu", "3", "memory", "3", "ephemeral-storage", "3", "example.com/gpu", "3"),
			list:  objects.Resources("cpu", "2", "memory", "2", "ephemeral-storage", "2", "example.com/gpu", "2"),
			want: framework.Resource{MilliCPU: 3000, Memory: 3, EphemeralStorage: 3,
				ScalarResources: map[v1.ResourceName]int64{"example.com/gpu": 3}},
		},
		{
			name:  "ignored names",
			start: objects.Resources("cpu", "1"),
			list:  objects.Resources("cores", "9"),
			want:  framework.Resource{MilliCPU: 1000},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := framework.NewResource(test.start)
			r.SetMaxResource(test.list)
			if diff := cmp.Diff(&test.want, r); diff != "" {
				t.Errorf("SetMaxResource (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResourceClone(t *testing.T) {
	original := framework.NewResource(objects.Resources("cpu", "1", "pods", "5", "example.com/gpu", "1"))
	clone := original.Clone()
	if diff := cmp.Diff(original, clone); diff != "" {
		t.Errorf("clone differs (-original +clone):\n%s", diff)
	}
	clone.Add(objects.Resources("cpu", "1", "example.com/gpu", "1"))
	want := framework.NewResource(objects.Resources("cpu", "1", "pods", "5", "example.com/gpu", "1"))
	if diff := cmp.Diff(want, original); diff != "" {
		t.Errorf("changing the clone changed the original (-want +got):\n%s", diff)
	}
	if empty := new(framework.Resource).Clone(); empty.ScalarResources != nil {
		t.Errorf("clone of an empty vector has scalars %v", empty.ScalarResources)
	}
}

func TestResourceGetters(t *testing.T) {
	r := framework.NewResource(objects.Resources("cpu", "1", "memory", "2", "ephemeral-storage", "3", "pods", "4", "example.com/gpu", "5"))
	got := []int64{r.GetMilliCPU(), r.GetMemory(), r.GetEphemeralStorage(), int64(r.GetAllowedPodNumber()), r.GetScalarResources()["example.com/gpu"]}
	if diff := cmp.Diff([]int64{1000, 2, 3, 4, 5}, got); diff != "" {
		t.Errorf("getters (-want +got):\n%s", diff)
	}
	var byName []int64
	for _, name := range []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "pods", "example.com/gpu", "example.com/other"} {
		byName = append(byName, framework.AmountOf(r, name))
	}
	if diff := cmp.Diff([]int64{1000, 2, 3, 0, 5, 0}, byName); diff != "" {
		t.Errorf("amounts by name (-want +got):\n%s", diff)
	}
}

func TestResourceNames(t *testing.T) {
	type kinds struct{ Scalar, Extended, Native, HugePage, Attachable, DRA bool }
	tests := []struct {
		name v1.ResourceName
		want kinds
	}{
		{"", kinds{Native: true}},
		{"cpu", kinds{Native: true}},
		{"memory", kinds{Native: true}},
		{"pods", kinds{Native: true}},
		{"gpu", kinds{Native: true}},
		{"hugepages-2Mi", kinds{Scalar: true, Native: true, HugePage: true}},
		{"hugepages-", kinds{Scalar: true, Native: true, HugePage: true}},
		{"attachable-volumes-csi-disk", kinds{Scalar: true, Native: true, Attachable: true}},
		{"example.com/gpu", kinds{Scalar: true, Extended: true, DRA: true}},
		{"kubernetes.io/gpu", kinds{Scalar: true, Native: true}},
		{"pod.alpha.kubernetes.io/opaque", kinds{Scalar: true, Native: true}},
		{"mykubernetes.io/gpu", kinds{Scalar: true, Native: true}}, // the domain is looked for anywhere in the name
		{"kubernetes.io.example.com/gpu", kinds{Scalar: true, Extended: true, DRA: true}},
		{"deviceclass.resource.kubernetes.io/gpu", kinds{Scalar: true, Native: true, DRA: true}},
		{"requests.example.com/gpu", kinds{}},
		{"requests.kubernetes.io/gpu", kinds{Scalar: true, Native: true}},
		{"example.com/", kinds{}},
		{"/gpu", kinds{}},
		{"example.com/a/b", kinds{}},
		{"Example.com/gpu", kinds{}},
		{"example.com/GPU_1", kinds{Scalar: true, Extended: true, DRA: true}},
	}
	for _, test := range tests {
		t.Run(string(test.name), func(t *testing.T) {
			got := kinds{
				Scalar:     framework.IsScalarResourceName(test.name),
				Extended:   framework.IsExtendedResourceName(test.name),
				Native:     framework.IsNativeResource(test.name),
				HugePage:   framework.IsHugePageResourceName(test.name),
				Attachable: framework.IsAttachableVolumeResourceName(test.name),
				DRA:        framework.IsDRAExtendedResourceName(test.name),
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}
