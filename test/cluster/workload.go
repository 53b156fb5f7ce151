// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const creators = 16 // goroutines that create objects

// zones is over how many zones the nodes are spread.
const zones = 10

// MakeNode returns the node of a number: 4 CPUs, 16 GiB, 16 pods, in one of ten zones.
func MakeNode(number int) *v1.Node {
	disk := "hdd"
	if number%2 == 0 {
		disk = "ssd"
	}
	return objects.Node(fmt.Sprintf("node-%04d", number)).Capacity("cpu", "4", "memory", "16Gi", "pods", "16").
		Label(v1.LabelTopologyZone, "zone-"+strconv.Itoa(number%zones)).Label("disk", disk).Build()
}

// MakePod returns the pod of a number. Its request is one of four sizes, 562m of CPU on average, so that five pods a
// node leave some nodes full; some want a disk, some are spread over zones, some keep away from each other.
func MakePod(schedulerName string, number int) *v1.Pod {
	sizes := []string{"250m", "250m", "750m", "1"}
	app := "app-" + strconv.Itoa(number%50)
	pod := objects.Pod(fmt.Sprintf("pod-%05d", number)).Label("app", app).SchedulerName(schedulerName).Image("image").
		Requests("cpu", sizes[number%len(sizes)], "memory", "500Mi")
	switch number % 10 {
	case 0, 1:
		pod = pod.NodeSelector("disk", "ssd")
	case 2, 3:
		pod = pod.SpreadConstraint(5, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
	case 4:
		pod = pod.PreferredPodAntiAffinity(10, v1.LabelHostname, "app="+app)
	}
	return pod.Build()
}

// CreateNodes creates the nodes with the numbers from 0.
func CreateNodes(ctx context.Context, tb testing.TB, client clientset.Interface, count int) {
	tb.Helper()
	createAll(ctx, tb, count, func(number int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, MakeNode(number), metav1.CreateOptions{})
		return err
	})
}

// CreatePods creates the pods with the numbers from 0.
func CreatePods(ctx context.Context, tb testing.TB, client clientset.Interface, schedulerName string, count int) {
	tb.Helper()
	createAll(ctx, tb, count, func(number int) error {
		pod := MakePod(schedulerName, number)
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// CreatePodsAtPace creates so many pods a second.
func CreatePodsAtPace(ctx context.Context, tb testing.TB, client clientset.Interface, schedulerName string, count, pace int) {
	tb.Helper()
	ticker := time.NewTicker(time.Second / time.Duration(pace))
	defer ticker.Stop()
	createAll(ctx, tb, count, func(number int) error {
		<-ticker.C
		pod := MakePod(schedulerName, number)
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// createAll creates from several goroutines, again and again if need be: the API server may be down for a while.
func createAll(ctx context.Context, tb testing.TB, count int, create func(number int) error) {
	tb.Helper()
	numbers := make(chan int)
	var group sync.WaitGroup
	for range creators {
		group.Go(func() {
			for number := range numbers {
				if err := insist(ctx, func() error { return create(number) }); err != nil {
					tb.Errorf("creating object %d: %v", number, err)
				}
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	group.Wait()
}

// insist tries for two minutes.
func insist(ctx context.Context, create func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		last = create()
		if apierrors.IsInvalid(last) || apierrors.IsForbidden(last) && !apierrors.HasStatusCause(last, v1.NamespaceTerminatingCause) {
			return false, last
		}
		return last == nil || apierrors.IsAlreadyExists(last), nil
	})
	if err != nil {
		return last
	}
	return nil
}
