// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// barrier waits until the pods that were created without waiting have reached a stage.
type barrier struct {
	opcode
	// StageRequirement is Attempted, or Scheduled, which is the default.
	StageRequirement stage             `json:"stageRequirement"`
	LabelSelector    map[string]string `json:"labelSelector"`
}

func (o *barrier) prepare(place) (step, error) {
	target := o.StageRequirement
	if target == "" {
		target = scheduled
	}
	if target != scheduled && target != attempted {
		return step{}, fmt.Errorf("barrier: the runner does not know the stage %q", target)
	}
	return step{name: o.Opcode, do: func(ctx context.Context, r *run) error {
		return r.wait(ctx, selected(r.created, o.LabelSelector), target)
	}}, nil
}

// selected returns the pods with labels.
func selected(pods []createdPod, want map[string]string) []createdPod {
	selector := labels.SelectorFromSet(want)
	return slices.DeleteFunc(slices.Clone(pods), func(p createdPod) bool { return !selector.Matches(labels.Set(p.labels)) })
}

// sleep waits for a while.
type sleep struct {
	opcode
	Duration      metav1.Duration `json:"duration"`
	DurationParam string          `json:"durationParam"`
}

func (o *sleep) prepare(at place) (step, error) {
	duration, err := at.params.duration(o.DurationParam)
	if err != nil {
		return step{}, err
	}
	return step{name: o.Opcode, do: func(ctx context.Context, _ *run) error {
		select {
		case <-time.After(max(duration, o.Duration.Duration)):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}, nil
}

// deletePods deletes the pods that were created in a namespace.
type deletePods struct {
	opcode
	Namespace            string            `json:"namespace"`
	LabelSelector        map[string]string `json:"labelSelector"`
	DeletePodsPerSecond  int               `json:"deletePodsPerSecond"`
	SkipWaitToCompletion bool              `json:"skipWaitToCompletion"`
}

func (o *deletePods) prepare(at place) (step, error) {
	return step{name: o.Opcode, do: func(ctx context.Context, r *run) error {
		pods := selected(r.created, o.LabelSelector)
		pods = slices.DeleteFunc(pods, func(p createdPod) bool { return p.namespace != o.Namespace })
		remove := func(ctx context.Context) error {
			return atPace(ctx, len(pods), o.DeletePodsPerSecond, func(i int) error {
				err := r.client.CoreV1().Pods(o.Namespace).Delete(ctx, pods[i].name, metav1.DeleteOptions{})
				if err != nil && !apierrors.IsNotFound(err) {
					return fmt.Errorf("deleting pod %s in %s: %w", pods[i].name, o.Namespace, err)
				}
				return nil
			})
		}
		if !o.SkipWaitToCompletion {
			return remove(ctx)
		}
		r.inBackground(ctx, remove)
		return nil
	}}, nil
}

// startCollectingMetrics begins the measured phase, which is about pods of these namespaces with these labels.
type startCollectingMetrics struct {
	opcode
	Name          string            `json:"name"`
	Namespaces    []string          `json:"namespaces"`
	LabelSelector map[string]string `json:"labelSelector"`
}

func (o *startCollectingMetrics) prepare(place) (step, error) {
	return step{name: o.Opcode, do: func(ctx context.Context, r *run) error {
		return r.beginPhase(ctx, phaseOf{namespaces: o.Namespaces, labels: o.LabelSelector})
	}}, nil
}

// stopCollectingMetrics ends the measured phase.
type stopCollectingMetrics struct{ opcode }

func (o *stopCollectingMetrics) prepare(place) (step, error) {
	return step{name: o.Opcode, do: func(ctx context.Context, r *run) error { return r.endPhase(ctx) }}, nil
}
