// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gang is a plugin that binds the pods of a PodGroup together or not at all. It reads PodGroups with the client and
// the cache of controller-runtime.
package gang

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/podgroups/api/v1alpha1"
)

const (
	// Name is the name of the plugin in profiles.
	Name = "Gang"
	// Label is the label of pods that names their PodGroup, which is in the same namespace.
	Label = "scheduling.example.com/pod-group"
	// syncTimeout is how long New waits for the PodGroups of the cluster.
	syncTimeout = 30 * time.Second
)

var (
	_ fwk.PreEnqueuePlugin  = &Plugin{}
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PermitPlugin      = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// Plugin binds gangs together.
type Plugin struct {
	handle fwk.Handle
	args   *v1alpha1.GangArgs
	pods   listersv1.PodLister
	groups client.Client
	stop   context.CancelFunc
}

// New builds the plugin for one profile. Its informer runs until Close is called.
func New(ctx context.Context, written apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := arguments(written)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	groups, err := newClient(ctx, handle.KubeConfig())
	if err != nil {
		stop()
		return nil, err
	}
	pods := handle.SharedInformerFactory().Core().V1().Pods().Lister()
	return &Plugin{handle: handle, args: args, pods: pods, groups: groups, stop: stop}, nil
}

// arguments returns the typed arguments. They are nil if the profile has none.
func arguments(written apiruntime.Object) (*v1alpha1.GangArgs, error) {
	args := &v1alpha1.GangArgs{}
	if written != nil {
		typed, ok := written.(*v1alpha1.GangArgs)
		if !ok {
			return nil, fmt.Errorf("want arguments of type %T, got %T; is the scheme passed to NewSchedulerCommandWithScheme?", args, written)
		}
		args = typed
	}
	v1alpha1.SetDefaults(args)
	if timeout := args.PermitTimeout.Duration; timeout < 0 {
		return nil, field.Invalid(field.NewPath("permitTimeout"), timeout.String(), "must not be negative")
	}
	return args, nil
}

// newClient returns a client that reads PodGroups from a cache, which is kept up to date until the context ends.
func newClient(ctx context.Context, config *rest.Config) (client.Client, error) {
	scheme := v1alpha1.NewScheme()
	informers, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a cache of PodGroups: %w", err)
	}
	if _, err := informers.GetInformer(ctx, &v1alpha1.PodGroup{}); err != nil {
		return nil, fmt.Errorf("making an informer of PodGroups; is their CustomResourceDefinition installed? %w", err)
	}
	go informers.Start(ctx) // returns when the context ends, and never an error
	waiting, stop := context.WithTimeout(ctx, syncTimeout)
	defer stop()
	if !informers.WaitForCacheSync(waiting) {
		return nil, fmt.Errorf("the PodGroups were not read in %v; may the scheduler list and watch them?", syncTimeout)
	}
	return client.New(config, client.Options{Scheme: scheme, Cache: &client.CacheOptions{Reader: informers}})
}

// Close implements io.Closer: it stops the informer. Profiles are closed when the scheduler ends.
func (p *Plugin) Close() error {
	p.stop()
	return nil
}

// Name implements fwk.Plugin.
func (p *Plugin) Name() string { return Name }

// groupOf returns the PodGroup of a pod; nil if the pod is in none, or if there is no such PodGroup.
func (p *Plugin) groupOf(ctx context.Context, pod *v1.Pod) (*v1alpha1.PodGroup, error) {
	name := pod.Labels[Label]
	if name == "" {
		return nil, nil
	}
	group := &v1alpha1.PodGroup{}
	err := p.groups.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, group)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading PodGroup %s/%s: %w", pod.Namespace, name, err)
	}
	return group, nil
}

// members returns all pods of the gang of a pod, which is among them.
func (p *Plugin) members(pod *v1.Pod) ([]*v1.Pod, error) {
	members, err := p.pods.Pods(pod.Namespace).List(labels.SelectorFromSet(labels.Set{Label: pod.Labels[Label]}))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of PodGroup %s/%s: %w", pod.Namespace, pod.Labels[Label], err)
	}
	return members, nil
}
