// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package imagelocality

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func container(image string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: image}) }
}

func initContainer(image string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{Image: image})
	}
}

func imageVolume(reference string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		source := v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: reference}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "image", VolumeSource: source})
	}
}

// cluster has four nodes, of which the first holds the given images.
func cluster(images map[string]*fwk.ImageStateSummary) (*plugin, *framework.NodeInfo) {
	handle := &fixture.Handle{}
	for _, name := range []string{"a", "b", "c", "d"} {
		handle.Nodes.Infos = append(handle.Nodes.Infos, fixture.NodeInfo(objects.Node(name).Build()))
	}
	first := handle.Nodes.Infos[0]
	first.SetImageStates(images)
	built, _ := New(context.Background(), nil, handle)
	return built.(*plugin), first
}

func TestScore(t *testing.T) {
	// Sizes in MiB, and how many of the four nodes hold them.
	holding := map[string]*fwk.ImageStateSummary{
		"small:latest":      {Size: 20 * mebibyte, NumNodes: 4},
		"medium:latest":     {Size: 250 * mebibyte, NumNodes: 4},
		"large:v1":          {Size: 900 * mebibyte, NumNodes: 4},
		"giant:latest":      {Size: 5000 * mebibyte, NumNodes: 4},
		"rare:latest":       {Size: 800 * mebibyte, NumNodes: 1},
		"odd:latest":        {Size: 100*mebibyte + 3, NumNodes: 3},
		"reg:5000/x:latest": {Size: 250 * mebibyte, NumNodes: 4},
		"by@sha256:abc":     {Size: 250 * mebibyte, NumNodes: 4},
	}
	tests := []struct {
		name string
		pod  *v1.Pod
		want int64
	}{
		{"no image on the node", objects.Pod("p").With(container("other")).Build(), 0},
		{"below the floor", objects.Pod("p").With(container("small")).Build(), 0},
		// 100*(250-23)/(1000-23) = 23.2.
		{"one image", objects.Pod("p").With(container("medium")).Build(), 23},
		// 100*(900-23)/977 = 89.8.
		{"larger image wins", objects.Pod("p").With(container("large:v1")).Build(), 89},
		{"limit clamped at 1000 MiB per image", objects.Pod("p").With(container("giant")).Build(), 100},
		// 100*(250+900-23)/(2000-23) = 57.0.
		{"both images on one node", objects.Pod("p").With(container("medium")).With(container("large:v1")).Build(), 57},
		// 100*(250-23)/1977 = 11.5.
		{"one of two images", objects.Pod("p").With(container("medium")).With(container("other")).Build(), 11},
		// 100*(500-23)/1977 = 24.1.
		{"the same image twice", objects.Pod("p").With(container("medium")).With(container("medium")).Build(), 24},
		// The sum is clamped, not each image: 100*(2000-23)/1977.
		{"a giant and a small image", objects.Pod("p").With(container("giant")).With(container("small")).Build(), 100},
		// 800/4 = 200: 100*(200-23)/977 = 18.1.
		{"an image that few nodes hold", objects.Pod("p").With(container("rare")).Build(), 18},
		// 100*(250+900-23)/1977 = 57.0.
		{"init containers included", objects.Pod("p").With(initContainer("medium")).With(container("large:v1")).Build(), 57},
		{"image volume like a container", objects.Pod("p").With(imageVolume("medium")).With(container("large:v1")).Build(), 57},
		{
			"other volumes don't count",
			objects.Pod("p").With(container("medium")).Volume("v", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}).Build(),
			23,
		},
		// Scaled sizes are cut one by one, which only shows in bytes: 75 MiB + 2, twice; 100*(150-23)/1977 = 6.4.
		{"several small images", objects.Pod("p").With(container("odd")).With(container("odd")).Build(), 6},
		{"explicit tag", objects.Pod("p").With(container("medium:latest")).Build(), 23},
		{"another tag", objects.Pod("p").With(container("medium:v2")).Build(), 0},
		{"port of a registry is no tag", objects.Pod("p").With(container("reg:5000/x")).Build(), 23},
		{"digest", objects.Pod("p").With(container("by@sha256:abc")).Build(), 23},
		{"no containers", objects.Pod("p").Build(), 0},
	}
	pl, node := cluster(holding)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, status := pl.Score(t.Context(), framework.NewCycleState(), tt.pod, node)
			fixture.CheckStatus(t, status, nil)
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	if pl.ScoreExtensions() != nil {
		t.Error("the plugin normalises scores")
	}
}

func TestScoreNodeWithoutImages(t *testing.T) {
	pl, node := cluster(nil)
	got, status := pl.Score(t.Context(), nil, objects.Pod("p").With(container("medium")).Build(), node)
	fixture.CheckStatus(t, status, nil)
	if got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestScoreSnapshotFails(t *testing.T) {
	handle := &fixture.Handle{Nodes: fixture.Nodes{Err: errors.New("broken")}}
	built, err := New(t.Context(), nil, handle)
	if err != nil {
		t.Fatal(err)
	}
	_, status := built.(*plugin).Score(t.Context(), nil, objects.Pod("p").Build(), fixture.NodeInfo(objects.Node("a").Build()))
	if !status.IsError() {
		t.Errorf("got %v, want Error", status.Code())
	}
}
