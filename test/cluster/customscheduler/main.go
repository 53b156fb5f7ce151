// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Customscheduler is rouse with a plugin that waits for an object of a custom resource.
package main

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

const name = "TicketOffice"

func main() {
	os.Exit(app.Run(app.NewSchedulerCommand(app.WithPlugin(name, newTicketOffice))))
}

// ticketOffice lets a pod pass once a ticket with its name exists in its namespace.
type ticketOffice struct {
	tickets dynamic.NamespaceableResourceInterface
}

var (
	_ fwk.PreFilterPlugin   = &ticketOffice{}
	_ fwk.EnqueueExtensions = &ticketOffice{}
)

func newTicketOffice(_ context.Context, _ apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	client, err := dynamic.NewForConfig(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("making a client for tickets: %w", err)
	}
	kind := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "tickets"}
	return &ticketOffice{tickets: client.Resource(kind)}, nil
}

// Name implements fwk.Plugin.
func (*ticketOffice) Name() string { return name }

// EventsToRegister implements fwk.EnqueueExtensions.
func (*ticketOffice) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: "tickets.v1.example.com", ActionType: fwk.Add},
		QueueingHintFn: ticketFor,
	}}, nil
}

func ticketFor(_ klog.Logger, pod *v1.Pod, _, added any) (fwk.QueueingHint, error) {
	ticket, ok := added.(*unstructured.Unstructured)
	if !ok {
		return fwk.Queue, fmt.Errorf("a ticket is a %T", added)
	}
	if ticket.GetNamespace() == pod.Namespace && ticket.GetName() == pod.Name {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// PreFilter implements fwk.PreFilterPlugin.
func (o *ticketOffice) PreFilter(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	_, err := o.tickets.Namespace(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "no ticket for the pod")
	case err != nil:
		return nil, fwk.AsStatus(err)
	}
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (*ticketOffice) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
