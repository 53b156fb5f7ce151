// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createPods creates pods and waits until they are scheduled.
type createPods struct {
	opcode
	Count      int    `json:"count"`
	CountParam string `json:"countParam"`
	// CountMultiplierParam multiplies the count: so many pods for each.
	CountMultiplierParam string `json:"countMultiplierParam"`
	Namespace            string `json:"namespace"`
	// PodTemplatePath is of the pods; else they have the default template of the test case.
	PodTemplatePath string         `json:"podTemplatePath"`
	TemplateParams  map[string]any `json:"templateParams"`
	// Each pod gets a volume of its own if these two are given.
	PersistentVolumeTemplatePath      string `json:"persistentVolumeTemplatePath"`
	PersistentVolumeClaimTemplatePath string `json:"persistentVolumeClaimTemplatePath"`
	// CollectMetrics makes this the measured phase.
	CollectMetrics       bool `json:"collectMetrics"`
	SkipWaitToCompletion bool `json:"skipWaitToCompletion"`
	// SteadyStateParam keeps the number of pods as it is for as long as DurationParam says: a scheduled pod is deleted, and
	// another one created.
	SteadyStateParam string `json:"steadyStateParam"`
	DurationParam    string `json:"durationParam"`
	// SignatureBatchSizeParam is how many pods one after the other are alike to plugins.
	SignatureBatchSizeParam string `json:"signatureBatchSizeParam"`
}

// podsToCreate is a createPods that is ready.
type podsToCreate struct {
	*createPods
	operation, count, batch int
	steady                  time.Duration // zero: all at once
	pod, volume, claim      *manifest
}

func (o *createPods) prepare(at place) (step, error) {
	ready, err := o.ready(at)
	if err != nil {
		return step{}, err
	}
	namespace := at.namespace(o.Namespace)
	return step{name: o.Opcode, manifests: ready.manifests(), do: func(ctx context.Context, r *run) error {
		if err := r.insistOnNamespace(ctx, namespace); err != nil {
			return err
		}
		return ready.do(ctx, r, namespace)
	}}, nil
}

func (o *createPods) ready(at place) (*podsToCreate, error) {
	p := &podsToCreate{createPods: o, operation: at.index}
	var err error
	if p.count, err = at.count(o.Count, o.CountParam, 0); err != nil {
		return nil, err
	}
	times, err := at.params.integer(o.CountMultiplierParam, 1)
	if err != nil {
		return nil, err
	}
	p.count *= times
	if p.batch, err = at.params.integer(o.SignatureBatchSizeParam, 0); err != nil {
		return nil, err
	}
	steady, err := at.params.boolean(o.SteadyStateParam)
	if err != nil {
		return nil, err
	}
	if steady {
		if p.steady, err = at.params.duration(o.DurationParam); err != nil {
			return nil, err
		}
	}
	path := at.path(o.PodTemplatePath)
	if path == "" {
		path = at.defaultPod
	}
	if path == "" {
		path = at.suitePath(defaultPod)
	}
	if p.pod, err = at.manifest(path, o.TemplateParams, p.count); err != nil {
		return nil, err
	}
	if o.PersistentVolumeTemplatePath == "" {
		return p, nil
	}
	if p.volume, err = at.manifest(at.path(o.PersistentVolumeTemplatePath), nil, p.count); err != nil {
		return nil, err
	}
	p.claim, err = at.manifest(at.path(o.PersistentVolumeClaimTemplatePath), nil, p.count)
	return p, err
}

// defaultPod is the template of pods for which neither the operation nor the test case names one, relative to the suite.
const defaultPod = "templates/pod-default.yaml"

func (p *podsToCreate) manifests() []*manifest {
	all := []*manifest{p.pod}
	if p.volume != nil {
		all = append(all, p.volume, p.claim)
	}
	return all
}

// do creates the pods in a namespace.
func (p *podsToCreate) do(ctx context.Context, r *run, namespace string) error {
	if p.CollectMetrics {
		if err := r.beginPhase(ctx, phaseOf{namespaces: []string{namespace}}); err != nil {
			return err
		}
	}
	err := p.createAndWait(ctx, r, namespace)
	if err == nil && p.CollectMetrics {
		err = r.endPhase(ctx)
	}
	return err
}

func (p *podsToCreate) createAndWait(ctx context.Context, r *run, namespace string) error {
	if p.steady > 0 {
		return p.keepSteady(ctx, r, namespace)
	}
	created := make([]createdPod, p.count)
	err := inParallel(ctx, p.count, func(i int) (err error) {
		created[i], err = p.create(ctx, r, namespace, i)
		return err
	})
	if err != nil {
		return err
	}
	r.created = append(r.created, created...)
	if p.SkipWaitToCompletion {
		return nil
	}
	return r.wait(ctx, created, scheduled)
}

// create creates one pod, with its volume.
func (p *podsToCreate) create(ctx context.Context, r *run, namespace string, index int) (createdPod, error) {
	pod, err := object[v1.Pod](p.pod, index)
	if err != nil {
		return createdPod{}, err
	}
	if p.volume != nil {
		if err := p.createVolume(ctx, r, namespace, index, pod); err != nil {
			return createdPod{}, err
		}
	}
	if p.batch > 0 {
		// Plugins sign tolerations, and no node has such a taint.
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
			Key: "batch", Value: fmt.Sprint(index / p.batch), Effect: v1.TaintEffectNoSchedule,
		})
	}
	made, err := r.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return createdPod{}, fmt.Errorf("creating pod %d in %s: %w", index, namespace, err)
	}
	return createdPod{uid: made.UID, namespace: namespace, name: made.Name, labels: made.Labels}, nil
}

// createVolume creates a volume and a claim that are bound to each other, and gives the claim to the pod.
func (p *podsToCreate) createVolume(ctx context.Context, r *run, namespace string, index int, pod *v1.Pod) error {
	volume, err := object[v1.PersistentVolume](p.volume, index)
	if err != nil {
		return err
	}
	claim, err := object[v1.PersistentVolumeClaim](p.claim, index)
	if err != nil {
		return err
	}
	claim.Name = fmt.Sprintf("pvc-%d", index)
	volume.Name = fmt.Sprintf("pv-%s-%d", namespace, index)
	claim.Spec.VolumeName = volume.Name
	if source := volume.Spec.CSI; source != nil {
		source.VolumeHandle = volume.Name
	}
	if source := volume.Spec.AWSElasticBlockStore; source != nil {
		source.VolumeID = volume.Name
	}
	made, err := r.client.CoreV1().PersistentVolumeClaims(namespace).Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating claim %d in %s: %w", index, namespace, err)
	}
	volume.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: made.Name, UID: made.UID}
	if _, err := r.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the volume of claim %d in %s: %w", index, namespace, err)
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "vol", VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}})
	return nil
}

// createPodSets does a createPods in each of several namespaces.
type createPodSets struct {
	opcode
	Count           int        `json:"count"`
	CountParam      string     `json:"countParam"`
	NamespacePrefix string     `json:"namespacePrefix"`
	CreatePodsOp    createPods `json:"createPodsOp"`
}

func (o *createPodSets) prepare(at place) (step, error) {
	count, err := at.count(o.Count, o.CountParam, 0)
	if err != nil {
		return step{}, err
	}
	ready, err := o.CreatePodsOp.ready(at)
	if err != nil {
		return step{}, err
	}
	return step{name: o.Opcode, manifests: ready.manifests(), do: func(ctx context.Context, r *run) error {
		for i := range count {
			if err := ready.do(ctx, r, fmt.Sprintf("%s-%d", o.NamespacePrefix, i)); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}
