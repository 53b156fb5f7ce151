// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

// unfinishedPods selects the pods that still take something from a node, or want to. A pod that finishes leaves the
// selection, which the informer reports as a deletion.
const unfinishedPods = "status.phase!=" + string(v1.PodSucceeded) + ",status.phase!=" + string(v1.PodFailed)

// InformerOptions are the settings of [NewInformerFactoryWith]. The zero value is the default.
type InformerOptions struct {
	// Name is what the metrics of client-go call the informers; nil keeps them out of the metrics.
	Name *clientcache.InformerName
	// TrimPods has the informers keep of pods that have a node only what the in-tree plugins, the event handlers and
	// inspection read, which takes less than half the memory:
	//
	//   - metadata: name, namespace, UID, resource version, generation, times of creation and deletion, labels and owners;
	//   - spec: node name, scheduler name, priority and preemption policy, resources, overhead, resource claims, affinity,
	//     node selector, tolerations, spread constraints, gates, host network, host users, OS, scheduling group; of
	//     containers name, image, resources, restart policy and host ports; of volumes those that not every node can make by
	//     itself, which are all but config maps, secrets, the downward API, projected and empty directories, host paths, git
	//     repositories and images;
	//   - status: phase, start time, nominated node, resources of the pod, statuses of resource claims, the conditions
	//     DisruptionTarget, PodResizePending and PodResizeInProgress, and the resources of each container.
	//
	// Such pods share equal parts, and are kept as [framework.CompactPod]: whoever gets one from a lister, an index or an event
	// gets a v1.Pod, which is made in less than a microsecond unless there is one. Their informer takes no transform
	// from others. Of ReplicaSets, StatefulSets and ReplicationControllers, of which there are many old ones,
	// only name, namespace, UID, resource version and selector are kept.
	//
	// Everything that reads pods and their owners from the factory sees them so: out-of-tree plugins, extenders that are sent
	// the victims of a preemption, and other controllers of the process. Pods without a node stay full.
	TrimPods bool
}

// NewInformerFactory returns an informer factory for a scheduler: no resync, no pods that are finished, and pods and nodes
// without the record of who manages which field. Nodes share equal texts. [InformerOptions] has settings.
func NewInformerFactory(client clientset.Interface) informers.SharedInformerFactory {
	return NewInformerFactoryWith(client, InformerOptions{})
}

// NewInformerFactoryWith is [NewInformerFactory] with options.
func NewInformerFactoryWith(client clientset.Interface, options InformerOptions) informers.SharedInformerFactory {
	shared := &sharedValues{}
	settings := []informers.SharedInformerOption{informers.WithInformerName(options.Name)}
	if options.TrimPods {
		settings = append(settings, informers.WithTransform(shared.trim))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, settings...)
	factory.InformerFor(&v1.Pod{}, func(client clientset.Interface, resync time.Duration) clientcache.SharedIndexInformer {
		if options.TrimPods {
			return newCompactInformer(newPodInformer(client, resync, options.Name, shared.trim), shared)
		}
		return newPodInformer(client, resync, options.Name, dropManagedFields)
	})
	factory.InformerFor(&v1.Node{}, func(client clientset.Interface, resync time.Duration) clientcache.SharedIndexInformer {
		return newNodeInformer(client, resync, options.Name, shared.trim)
	})
	return factory
}

func newPodInformer(
	client clientset.Interface, resync time.Duration, name *clientcache.InformerName, transform clientcache.TransformFunc,
) clientcache.SharedIndexInformer {
	pods, selector := client.CoreV1().Pods(metav1.NamespaceAll), fields.ParseSelectorOrDie(unfinishedPods).String()
	source := pagedSource{
		client: client,
		page: func(ctx context.Context, options metav1.ListOptions) ([]apiruntime.Object, metav1.ListInterface, error) {
			options.FieldSelector = selector
			list, err := pods.List(ctx, options)
			if err != nil {
				return nil, nil, err
			}
			objects, err := trimmedCopies(list.Items, transform)
			return objects, list, err
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return pods.Watch(ctx, options)
		},
		trim: transform,
	}
	return source.informer(&v1.Pod{}, optionsOf("pods", resync, name))
}

func newNodeInformer(
	client clientset.Interface, resync time.Duration, name *clientcache.InformerName, transform clientcache.TransformFunc,
) clientcache.SharedIndexInformer {
	nodes := client.CoreV1().Nodes()
	source := pagedSource{
		client: client,
		page: func(ctx context.Context, options metav1.ListOptions) ([]apiruntime.Object, metav1.ListInterface, error) {
			list, err := nodes.List(ctx, options)
			if err != nil {
				return nil, nil, err
			}
			objects, err := trimmedCopies(list.Items, transform)
			return objects, list, err
		},
		watch: nodes.Watch,
		trim:  transform,
	}
	return source.informer(&v1.Node{}, optionsOf("nodes", resync, name))
}

func optionsOf(resource string, resync time.Duration, name *clientcache.InformerName) clientcache.SharedIndexInformerOptions {
	return clientcache.SharedIndexInformerOptions{
		ResyncPeriod: resync, Indexers: clientcache.Indexers{},
		Identifier: name.WithResource(v1.SchemeGroupVersion.WithResource(resource)),
	}
}

func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// WaitForHandlersSync returns once every object that existed when the informers started has passed through the event
// handlers, or with an error when the context ends before. Scheduling earlier would see half a cluster.
func (s *Scheduler) WaitForHandlersSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		return len(s.UnsyncedKinds()) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("handlers are not fully synchronized: %w", err)
	}
	return nil
}

// UnsyncedKinds returns the kinds of objects of which not all that existed when the informers started have passed
// through the event handlers, by the names of the event table; a custom kind is called plural.version.group. The kind
// of a CustomResourceDefinition that does not exist stays among them until it does.
func (s *Scheduler) UnsyncedKinds() []fwk.EventResource {
	var kinds []fwk.EventResource
	for _, handler := range s.handlers {
		if !handler.registration.HasSynced() {
			kinds = append(kinds, handler.kind)
		}
	}
	return kinds
}
