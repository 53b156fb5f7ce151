// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The folders of deploy that are applied: the two ways of running Rouse.
const (
	Beside    = "../../deploy/beside-kube-scheduler"
	InsteadOf = "../../deploy/instead-of-kube-scheduler"
)

// Manifests are the objects of a folder of deploy.
type Manifests struct {
	Namespaces      []*v1.Namespace
	ServiceAccounts []*v1.ServiceAccount
	ClusterRoles    []*rbacv1.ClusterRole
	ClusterBindings []*rbacv1.ClusterRoleBinding
	Roles           []*rbacv1.Role
	Bindings        []*rbacv1.RoleBinding
	ConfigMaps      []*v1.ConfigMap
	Deployments     []*appsv1.Deployment
	Budgets         []*policyv1.PodDisruptionBudget
}

// ReadManifests builds a folder as `kubectl kustomize` would. An object of a kind that it does not know, or a field that
// the kind does not have, is an error.
func ReadManifests(folder string) (*Manifests, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", folder, err)
	}
	manifests := &Manifests{}
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", folder, err)
		}
		object, _, err := strictDecoder().Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", resource.CurId(), folder, err)
		}
		if err := manifests.add(object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", folder, err)
		}
	}
	return manifests, nil
}

func (m *Manifests) add(object apiruntime.Object) error {
	switch typed := object.(type) {
	case *v1.Namespace:
		m.Namespaces = append(m.Namespaces, typed)
	case *v1.ServiceAccount:
		m.ServiceAccounts = append(m.ServiceAccounts, typed)
	case *rbacv1.ClusterRole:
		m.ClusterRoles = append(m.ClusterRoles, typed)
	case *rbacv1.ClusterRoleBinding:
		m.ClusterBindings = append(m.ClusterBindings, typed)
	case *rbacv1.Role:
		m.Roles = append(m.Roles, typed)
	case *rbacv1.RoleBinding:
		m.Bindings = append(m.Bindings, typed)
	case *v1.ConfigMap:
		m.ConfigMaps = append(m.ConfigMaps, typed)
	case *appsv1.Deployment:
		m.Deployments = append(m.Deployments, typed)
	case *policyv1.PodDisruptionBudget:
		m.Budgets = append(m.Budgets, typed)
	default:
		return fmt.Errorf("an object of type %T was not expected", object)
	}
	return nil
}

// Apply creates the objects. Those that exist stay as they are, so that a second folder can be applied next to the first.
func (m *Manifests) Apply(ctx context.Context, client clientset.Interface) error {
	var options metav1.CreateOptions
	var errs applied
	for _, o := range m.Namespaces {
		errs.note(client.CoreV1().Namespaces().Create(ctx, o, options))
	}
	for _, o := range m.ServiceAccounts {
		errs.note(client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, options))
	}
	for _, o := range m.ClusterRoles {
		errs.note(client.RbacV1().ClusterRoles().Create(ctx, o, options))
	}
	for _, o := range m.ClusterBindings {
		errs.note(client.RbacV1().ClusterRoleBindings().Create(ctx, o, options))
	}
	for _, o := range m.Roles {
		errs.note(client.RbacV1().Roles(o.Namespace).Create(ctx, o, options))
	}
	for _, o := range m.Bindings {
		errs.note(client.RbacV1().RoleBindings(o.Namespace).Create(ctx, o, options))
	}
	for _, o := range m.ConfigMaps {
		errs.note(client.CoreV1().ConfigMaps(o.Namespace).Create(ctx, o, options))
	}
	for _, o := range m.Deployments {
		errs.note(client.AppsV1().Deployments(o.Namespace).Create(ctx, o, options))
	}
	for _, o := range m.Budgets {
		errs.note(client.PolicyV1().PodDisruptionBudgets(o.Namespace).Create(ctx, o, options))
	}
	return errs.first
}

// Rights returns what the roles allow.
func (m *Manifests) Rights() []Use {
	var rules []rbacv1.PolicyRule
	for _, role := range m.ClusterRoles {
		rules = append(rules, role.Rules...)
	}
	for _, role := range m.Roles {
		rules = append(rules, role.Rules...)
	}
	var rights []Use
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, Use{Group: group, Resource: resource, Verb: verb})
				}
			}
		}
	}
	return rights
}

// applied keeps the first failure.
type applied struct{ first error }

func (a *applied) note(_ any, err error) {
	if a.first == nil && err != nil && !apierrors.IsAlreadyExists(err) {
		a.first = fmt.Errorf("creating an object of deploy: %w", err)
	}
}

// strictDecoder refuses fields that do not exist.
func strictDecoder() apiruntime.Decoder {
	return serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
}

// Token returns a token of a service account, good for an hour.
func Token(ctx context.Context, tb testing.TB, client clientset.Interface, namespace, account string) string {
	tb.Helper()
	seconds := int64(time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("making a token for %s/%s: %v", namespace, account, err)
	}
	return answer.Status.Token
}
