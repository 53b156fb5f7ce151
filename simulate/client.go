// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// client is the clientset that talks to an apiServer: the fake one of client-go, where it behaves like the real one.
type client struct {
	*fake.Clientset
}

// Discovery implements kubernetes.Interface. There is nothing to discover.
func (c *client) Discovery() discovery.DiscoveryInterfaces {
	return &fakediscovery.FakeDiscovery{Fake: &c.Fake}
}

// CoreV1 implements kubernetes.Interface.
func (c *client) CoreV1() corev1client.CoreV1Interface {
	return coreClient{c.Clientset.CoreV1()}
}

type coreClient struct {
	corev1client.CoreV1Interface
}

// Pods implements corev1client.PodsGetter.
func (c coreClient) Pods(namespace string) corev1client.PodInterface {
	return podClient{c.CoreV1Interface.Pods(namespace), namespace}
}

type podClient struct {
	corev1client.PodInterface
	namespace string
}

// Bind implements corev1client.PodExpansion. The binding need not name the namespace of the client again.
func (c podClient) Bind(ctx context.Context, binding *v1.Binding, options metav1.CreateOptions) error {
	if binding.Namespace == "" {
		binding = binding.DeepCopy()
		binding.Namespace = c.namespace
	}
	return c.PodInterface.Bind(ctx, binding, options)
}
