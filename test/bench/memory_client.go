// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// memoryClient is the clientset of a memoryAPI. What a scheduler does not call is that of a fake with nothing in it.
type memoryClient struct {
	*fake.Clientset
	api *memoryAPI
}

// CoreV1 implements kubernetes.Interface.
func (c *memoryClient) CoreV1() corev1.CoreV1Interface {
	return memoryCore{CoreV1Interface: c.Clientset.CoreV1(), api: c.api}
}

type memoryCore struct {
	corev1.CoreV1Interface
	api *memoryAPI
}

// Pods implements corev1.PodsGetter.
func (c memoryCore) Pods(namespace string) corev1.PodInterface {
	return memoryPods{PodInterface: c.CoreV1Interface.Pods(namespace), api: c.api}
}

type memoryPods struct {
	corev1.PodInterface
	api *memoryAPI
}

// Bind implements corev1.PodExpansion.
func (p memoryPods) Bind(_ context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	return p.api.bind(binding)
}

// Delete implements corev1.PodInterface.
func (p memoryPods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return p.api.change(name, func(*v1.Pod) (*v1.Pod, error) { return nil, nil })
}

// Patch implements corev1.PodInterface.
func (p memoryPods) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*v1.Pod, error) {
	return &v1.Pod{}, p.api.patchStatus(name, data)
}
