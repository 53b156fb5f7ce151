// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resources serves what the pods of a cluster ask for, as kube-scheduler does under /metrics/resources: the
// metrics kube_pod_resource_request and kube_pod_resource_limit, with a series for every resource of every pod that is not
// finished. As the pods of a large cluster make many series, they are not among the metrics of the scheduler itself.
package resources

import (
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-helpers/resource"
)

// Handler returns a handler that serves the metrics for the pods of a lister. The requests and limits of a pod are those
// that a scheduler reckons with: of its containers, its overhead, and what it sets for itself as a whole.
//
// While leading returns false the answer is empty, so that of several schedulers only one reports the pods; nil means that
// this one always does. A handler is safe for concurrent use.
func Handler(pods listersv1.PodLister, leading func() bool) http.Handler {
	registry := metrics.NewKubeRegistry()
	_ = registry.CustomRegister(newCollector(pods)) // cannot fail: the registry is empty
	handler := metrics.HandlerFor(registry, metrics.HandlerOpts{})
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if leading == nil || leading() {
			handler.ServeHTTP(response, request)
		}
	})
}

// collector makes the series again for every request.
type collector struct {
	metrics.BaseStableCollector
	pods           listersv1.PodLister
	request, limit *metrics.Desc
}

func newCollector(pods listersv1.PodLister) *collector {
	labels := []string{"namespace", "pod", "node", "scheduler", "priority", "resource", "unit"}
	return &collector{
		pods: pods,
		request: metrics.NewDesc("kube_pod_resource_request",
			"What pods that are not finished request of each resource, as a scheduler reckons with it. The unit is in a label.",
			labels, nil, metrics.STABLE, ""),
		limit: metrics.NewDesc("kube_pod_resource_limit",
			"What pods that are not finished are limited to of each resource. The unit is in a label.",
			labels, nil, metrics.STABLE, ""),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (c *collector) DescribeWithStability(descriptions chan<- *metrics.Desc) {
	descriptions <- c.request
	descriptions <- c.limit
}

// CollectWithStability implements metrics.StableCollector.
func (c *collector) CollectWithStability(found chan<- metrics.Metric) {
	pods, err := c.pods.List(labels.Everything())
	if err != nil { // a lister over an informer has none
		return
	}
	for _, pod := range pods {
		if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		collect(found, c.request, pod, resource.PodRequests(pod, resource.PodResourcesOptions{}))
		collect(found, c.limit, pod, resource.PodLimits(pod, resource.PodResourcesOptions{}))
	}
}

func collect(found chan<- metrics.Metric, description *metrics.Desc, pod *v1.Pod, amounts v1.ResourceList) {
	priority := ""
	if pod.Spec.Priority != nil {
		priority = strconv.Itoa(int(*pod.Spec.Priority))
	}
	for name, amount := range amounts {
		if amount.IsZero() {
			continue
		}
		found <- metrics.NewLazyConstMetric(description, metrics.GaugeValue, amount.AsApproximateFloat64(),
			pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Spec.SchedulerName, priority, string(name), unitOf(name))
	}
}

// unitOf returns what a resource is measured in; nothing for those that are only known by their names.
func unitOf(name v1.ResourceName) string {
	switch {
	case name == v1.ResourceCPU:
		return "cores"
	case name == v1.ResourceMemory, name == v1.ResourceStorage, name == v1.ResourceEphemeralStorage,
		strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
		return "bytes"
	case strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix):
		return "integer"
	}
	return ""
}
