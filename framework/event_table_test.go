// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// officialConstants reads the names of the action constants and the values of the resource constants from the source
// of the official package, so that an upgrade that adds one fails here.
func officialConstants(t *testing.T) (actions []string, resources []fwk.EventResource) {
	t.Helper()
	const path = "k8s.io/kube-scheduler/framework"
	found, err := build.Import(path, ".", build.FindOnly)
	if err != nil {
		t.Fatalf("finding %s: %v", path, err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(found.Dir, "types.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		kind := "" // a constant without a type continues the kind of the one before it
		for _, spec := range block.Specs {
			constant := spec.(*ast.ValueSpec)
			if named, ok := constant.Type.(*ast.Ident); ok {
				kind = named.Name
			}
			switch kind {
			case "ActionType":
				actions = append(actions, constant.Names[0].Name)
			case "EventResource":
				value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				resources = append(resources, fwk.EventResource(value))
			}
		}
	}
	return actions, resources
}

func TestTableHasEveryOfficialConstant(t *testing.T) {
	officialActions, officialResources := officialConstants(t)

	var actions []string
	for _, action := range framework.Actions() {
		actions = append(actions, action.Name)
	}
	combined := []string{"All", "Update", "None"}
	want := slices.DeleteFunc(officialActions, func(name string) bool { return slices.Contains(combined, name) })
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Errorf("Actions, once each and in the order of the bits (-official +got):\n%s", diff)
	}

	var resources []fwk.EventResource
	for _, row := range framework.Resources() {
		if row.Name != framework.Namespace { // which has no official constant
			resources = append(resources, row.Name)
		}
	}
	slices.Sort(resources)
	general := []fwk.EventResource{fwk.Pod, fwk.WildCard} // stand for several rows
	wantResources := slices.DeleteFunc(officialResources, func(name fwk.EventResource) bool { return slices.Contains(general, name) })
	slices.Sort(wantResources)
	if diff := cmp.Diff(wantResources, resources); diff != "" {
		t.Errorf("Resources, once each (-official +got):\n%s", diff)
	}
}

func TestActionsAreSingleBits(t *testing.T) {
	all := fwk.None
	for _, action := range framework.Actions() {
		if action.Bit&(action.Bit-1) != 0 || all&action.Bit != 0 {
			t.Errorf("%s is %b, want a single bit of its own", action.Name, action.Bit)
		}
		all |= action.Bit
	}
	if all != fwk.All {
		t.Errorf("all actions are %b, want %b", all, fwk.All)
	}
}

func TestTableLabels(t *testing.T) {
	seen := sets.New[string]()
	for _, row := range framework.Resources() {
		for _, action := range row.Actions {
			label := fwk.ClusterEvent{Resource: row.Name, ActionType: action.Bit}.Label()
			if want := string(row.Name) + action.Name; label != want {
				t.Errorf("label %s, want %s", label, want)
			}
			if seen.Has(label) {
				t.Errorf("label %s twice", label)
			}
			seen.Insert(label)
		}
	}
	for _, label := range []string{"NodeUpdateNodeTaint", "AssignedPodDelete", "storage.k8s.io/CSINodeAdd", "PersistentVolumeUpdate"} {
		if !seen.Has(label) {
			t.Errorf("label %s is missing", label)
		}
	}
}

// TestTableActions checks that the actions of a row are those that events of the resource carry.
func TestTableActions(t *testing.T) {
	names := map[fwk.EventResource][]string{}
	for _, row := range framework.Resources() {
		for _, action := range row.Actions {
			names[row.Name] = append(names[row.Name], action.Name)
		}
	}
	tests := map[fwk.EventResource][]string{
		fwk.Node: {"Add", "Delete", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint", "UpdateNodeCondition",
			"UpdateNodeAnnotation", "UpdateNodeDeclaredFeature", "UpdateNodePreemptionPolicy"},
		fwk.AssignedPod: {"Add", "Delete", "UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodScaleUp", "UpdatePodToleration",
			"UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim", "Update"},
		fwk.TargetPod: {"UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodScaleUp", "UpdatePodToleration",
			"UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim", "Update"},
		fwk.UnscheduledPod: nil,
		fwk.StorageClass:   {"Add", "Delete", "Update"},
		fwk.PodGroup:       {"Add", "Delete", "Update"},
	}
	for resource, want := range tests {
		if diff := cmp.Diff(want, names[resource]); diff != "" {
			t.Errorf("actions of %s (-want +got):\n%s", resource, diff)
		}
	}
}

// TestTableInformers asks the typed informer factory for the informer of every row.
func TestTableInformers(t *testing.T) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	for _, row := range framework.Resources() {
		if _, err := factory.ForResource(row.Informer); err != nil {
			t.Errorf("%s: %v", row.Name, err)
		}
	}
}

func TestLookupResource(t *testing.T) {
	for _, want := range framework.Resources() {
		got, ok := framework.LookupResource(want.Name)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("LookupResource(%s) = %t (-want +got):\n%s", want.Name, ok, diff)
		}
	}
	for _, name := range []fwk.EventResource{"", fwk.WildCard, fwk.Pod, "node", "CSINode", "foos.v1.example.com"} {
		if row, ok := framework.LookupResource(name); ok {
			t.Errorf("LookupResource(%q) = %v, want nothing", name, row)
		}
	}
}

func TestAllEvents(t *testing.T) {
	var got []fwk.EventResource
	for _, registration := range framework.AllEvents() {
		if registration.QueueingHintFn != nil || registration.PreQueueingHintFn != nil {
			t.Errorf("%s has a hint", registration.Event.Resource)
		}
		if registration.Event.ActionType != fwk.All || registration.Event.CustomLabel != "" {
			t.Errorf("%s has actions %b and label %q", registration.Event.Resource, registration.Event.ActionType, registration.Event.CustomLabel)
		}
		got = append(got, registration.Event.Resource)
	}
	slices.Sort(got)
	// Everything but the kinds that an API server may not have.
	want := []fwk.EventResource{
		fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod, fwk.Node, framework.Namespace,
		fwk.PersistentVolume, fwk.PersistentVolumeClaim, fwk.CSINode, fwk.CSIDriver, fwk.CSIStorageCapacity, fwk.StorageClass, fwk.VolumeAttachment,
		fwk.ResourceClaim, fwk.ResourceSlice, fwk.DeviceClass,
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func TestParseCustomResource(t *testing.T) {
	gvr := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	tests := []struct {
		name   fwk.EventResource
		want   schema.GroupVersionResource
		wantOK bool
	}{
		{"foos.v1.example.com", gvr("example.com", "v1", "foos"), true},
		{"bars.v1beta1.a.b.c", gvr("a.b.c", "v1beta1", "bars"), true},
		{"foos.v1.group", gvr("group", "v1", "foos"), true},
		{"foos.v1", gvr("", "", ""), false},
		{"foos", gvr("", "", ""), false},
		{"", gvr("", "", ""), false},
		{fwk.WildCard, gvr("", "", ""), false},
		{fwk.Pod, gvr("", "", ""), false},
		{fwk.CSINode, gvr("", "", ""), false},
		{"foos.v1.example.com/Foo", gvr("", "", ""), false},
		{".v1.example.com", gvr("", "", ""), false},
		{"foos..example.com", gvr("", "", ""), false},
		{"configmaps.v1.", gvr("", "v1", "configmaps"), true},
		{"foos..", gvr("", "", ""), false},
	}
	for _, test := range tests {
		got, ok := framework.ParseCustomResource(test.name)
		if diff := cmp.Diff(test.want, got); diff != "" || ok != test.wantOK {
			t.Errorf("ParseCustomResource(%q) = %t, want %t (-want +got):\n%s", test.name, ok, test.wantOK, diff)
		}
		if ok && framework.CustomResource(got) != test.name {
			t.Errorf("CustomResource(%v) = %q, want %q", got, framework.CustomResource(got), test.name)
		}
	}
	for _, row := range framework.Resources() {
		if got, ok := framework.ParseCustomResource(row.Name); ok {
			t.Errorf("ParseCustomResource(%q) = %v, although it is in the table", row.Name, got)
		}
	}
}

func TestActionNames(t *testing.T) {
	tests := []struct {
		actions fwk.ActionType
		want    []string
	}{
		{fwk.None, nil},
		{fwk.Add, []string{"Add"}},
		{fwk.UpdateNodeLabel | fwk.Add, []string{"Add", "UpdateNodeLabel"}},
		{fwk.Update, []string{"Update"}},
		{fwk.Update | fwk.Delete, []string{"Delete", "Update"}},
		{fwk.All &^ fwk.UpdateNodeLabel &^ fwk.Add, []string{"Delete", "UpdateNodeAllocatable", "UpdateNodeTaint", "UpdateNodeCondition",
			"UpdateNodeAnnotation", "UpdateNodeDeclaredFeature", "UpdateNodePreemptionPolicy", "UpdatePodLabel", "UpdatePodScaleDown",
			"UpdatePodScaleUp", "UpdatePodToleration", "UpdatePodSchedulingGatesEliminated", "UpdatePodGeneratedResourceClaim"}},
		{fwk.All, []string{"All"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, framework.ActionNames(test.actions)); diff != "" {
			t.Errorf("ActionNames(%b) (-want +got):\n%s", test.actions, diff)
		}
	}
}
