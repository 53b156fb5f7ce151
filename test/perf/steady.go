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
)

// keepSteady creates so many pods, and for a while replaces each that is scheduled by another one.
func (p *podsToCreate) keepSteady(ctx context.Context, r *run, namespace string) error {
	next := 0
	create := func(count int) ([]createdPod, error) {
		made := make([]createdPod, count)
		first := next
		next += count
		return made, inParallel(ctx, count, func(i int) (err error) {
			made[i], err = p.create(ctx, r, namespace, first+i)
			return err
		})
	}
	pending, err := create(p.count)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(p.steady); time.Now().Before(end); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("keeping %d pods: %s: %w", p.count, r.pods.describe(pending), context.Cause(ctx))
		}
		left := r.pods.unreached(slices.Clone(pending), scheduled)
		done := slices.DeleteFunc(slices.Clone(pending), func(pod createdPod) bool {
			return slices.ContainsFunc(left, func(other createdPod) bool { return other.uid == pod.uid })
		})
		if len(done) == 0 {
			continue
		}
		if err := r.remove(ctx, done); err != nil {
			return err
		}
		made, err := create(len(done))
		if err != nil {
			return err
		}
		pending = append(left, made...)
		r.progress.now("%d pods have been created", next)
	}
	return nil
}

// remove deletes pods.
func (r *run) remove(ctx context.Context, pods []createdPod) error {
	return inParallel(ctx, len(pods), func(i int) error {
		grace := int64(0)
		err := r.client.CoreV1().Pods(pods[i].namespace).Delete(ctx, pods[i].name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting pod %s in %s: %w", pods[i].name, pods[i].namespace, err)
		}
		return nil
	})
}
