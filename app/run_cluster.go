// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/app/internal/access"
	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// informerName is the name of the informers in the metrics of client-go; dashboards know it from kube-scheduler.
const informerName = "kube-scheduler"

// cluster is the connection of a process to its API server. Nothing is sent before the informers are started.
type cluster struct {
	// rest is for what is not the scheduler's own work: its Lease and its events. What plugins and the scheduler do to the
	// cluster goes through fenced.
	rest, fenced *restclient.Config
	fence        fence

	access *access.Record
	client clientset.Interface

	name      *clientcache.InformerName
	informers informers.SharedInformerFactory
	custom    dynamicinformer.DynamicSharedInformerFactory

	events events.EventBroadcaster
	// coreEvents are those about leadership, whose recorder has an older form.
	coreEvents record.EventBroadcaster
}

// connect makes the clients that the configuration asks for, and informers that keep of pods with a node what the plugins
// in the tree read, or all of them.
func connect(o *options.Options, config *profiles.Configuration, fullPods bool, logger klog.Logger) (*cluster, error) {
	rest, err := o.RESTConfig(config)
	if err != nil {
		return nil, &unreadableError{err}
	}
	c := &cluster{rest: rest, access: access.NewRecord(access.Options{Logger: logger})}
	rest.Wrap(c.access.Wrap)
	c.fenced = c.fence.fenced(rest)
	if c.client, err = clientset.NewForConfig(restclient.AddUserAgent(c.fenced, "scheduler")); err != nil {
		return nil, &unreadableError{fmt.Errorf("creating a client: %w", err)}
	}
	dynamicClient, err := dynamic.NewForConfig(restclient.AddUserAgent(rest, "scheduler"))
	if err != nil {
		return nil, fmt.Errorf("creating a client for custom resources: %w", err)
	}
	eventClient, err := clientset.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("creating a client for events: %w", err)
	}
	if c.name, err = clientcache.NewInformerName(informerName); err != nil {
		logger.V(1).Info("The informers are not in the metrics", "reason", err) // another scheduler in the process has the name
	}
	c.informers = scheduler.NewInformerFactoryWith(c.client, scheduler.InformerOptions{Name: c.name, TrimPods: !fullPods})
	c.custom = dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	c.events = events.NewBroadcaster(newEventSink(&events.EventSinkImpl{Interface: eventClient.EventsV1()}))
	c.coreEvents = record.NewBroadcaster()
	c.coreEvents.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: eventClient.CoreV1().Events("")})
	return c, nil
}

// recorder returns where events about pods go that a profile schedules.
func (c *cluster) recorder(schedulerName string) events.EventRecorderLogger {
	return c.events.NewRecorder(scheme.Scheme, schedulerName)
}

// coreRecorder returns where events about leadership go.
func (c *cluster) coreRecorder(component string) record.EventRecorderLogger {
	return c.coreEvents.NewRecorder(scheme.Scheme, v1.EventSource{Component: component})
}

// startEvents has events written to the cluster until the context ends.
func (c *cluster) startEvents(ctx context.Context) error {
	if err := c.events.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("recording events: %w", err)
	}
	return nil
}

// close ends what connect began, once the context of the informers has ended, and waits for these.
func (c *cluster) close() {
	c.informers.Shutdown()
	c.custom.Shutdown()
	c.events.Shutdown()
	c.coreEvents.Shutdown()
	if c.name != nil {
		c.name.Release()
	}
}
