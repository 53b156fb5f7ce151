// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

const ticketDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tickets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: tickets, singular: ticket, kind: Ticket}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

// A plugin that is built in waits for objects of a kind that the API server got at run time.
func TestCustomResourceWakesPod(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	client, err := dynamic.NewForConfig(f.Front.Config(f.Admin.BearerToken))
	if err != nil {
		t.Fatal(err)
	}
	tickets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "tickets"})
	defineTickets(t, client)
	WaitFor(ctx, t, 20*time.Second, func() (bool, string) {
		_, err := tickets.List(ctx, metav1.ListOptions{})
		return err == nil, fmt.Sprintf("the API server to serve tickets: %v", err)
	})
	f.allowTickets(t)

	s := StartScheduler(t, SchedulerOptions{
		Name: "customscheduler", Binary: f.binaries.Custom, Arguments: f.arguments(), API: f.Front.Config(f.Token),
		Config: strings.Replace(f.Manifests.ConfigMaps[0].Data["scheduler.yaml"], "- schedulerName: default-scheduler",
			"- schedulerName: default-scheduler\n  plugins: {preFilter: {enabled: [{name: TicketOffice}]}}", 1),
	})
	s.WaitReady(ctx, t)
	c := newCorner(t, f.Client, f.SchedulerName(t), 0)
	c.node("n1")
	c.pod("pod")
	c.pod("other")
	c.waitRejected("pod", "no ticket")
	c.waitRejected("other", "no ticket")
	ticket := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Ticket", "metadata": map[string]any{"name": "pod"},
	}}
	start := time.Now()
	must(c, "ticket")(tickets.Namespace(c.namespace).Create(ctx, ticket, metav1.CreateOptions{}))
	c.waitBound("pod", soon)
	t.Logf("bound %.2f s after the ticket was there", time.Since(start).Seconds())
	if condition := c.scheduled("other"); condition.Status != "False" {
		t.Errorf("the pod without a ticket has the condition %v", condition)
	}
}

func defineTickets(t *testing.T, client dynamic.Interface) {
	t.Helper()
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(ticketDefinition), definition); err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// allowTickets adds what the plugin needs to the rights of deploy.
func (f *Fixture) allowTickets(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "tickets"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"tickets"}, Verbs: []string{"get", "list", "watch"}}},
	}
	if _, err := f.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := f.Manifests.ClusterBindings[0].DeepCopy()
	binding.Name, binding.RoleRef.Name, binding.ResourceVersion = "tickets", "tickets", ""
	if _, err := f.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
