// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// createNamespaces creates namespaces named prefix-0, prefix-1 and so on.
type createNamespaces struct {
	opcode
	Prefix                string `json:"prefix"`
	Count                 int    `json:"count"`
	CountParam            string `json:"countParam"`
	NamespaceTemplatePath string `json:"namespaceTemplatePath"`
}

func (o *createNamespaces) prepare(at place) (step, error) {
	count, err := at.count(o.Count, o.CountParam, 0)
	if err != nil {
		return step{}, err
	}
	prepared := step{name: o.Opcode}
	var template *manifest
	if o.NamespaceTemplatePath != "" {
		if template, err = at.manifest(at.path(o.NamespaceTemplatePath), nil, count); err != nil {
			return step{}, err
		}
		prepared.manifests = []*manifest{template}
	}
	prepared.do = func(ctx context.Context, r *run) error {
		return inParallel(ctx, count, func(i int) error {
			namespace := &v1.Namespace{}
			if template != nil {
				var err error
				if namespace, err = object[v1.Namespace](template, i); err != nil {
					return err
				}
			}
			namespace.Name = fmt.Sprintf("%s-%d", o.Prefix, i)
			if _, err := r.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
			}
			return nil
		})
	}
	return prepared, nil
}

// createAny creates objects of any kind.
type createAny struct {
	opcode
	Count          int            `json:"count"`
	CountParam     string         `json:"countParam"`
	Namespace      string         `json:"namespace"`
	TemplatePath   string         `json:"templatePath"`
	TemplateParams map[string]any `json:"templateParams"`
}

func (o *createAny) prepare(at place) (step, error) {
	count, err := at.count(o.Count, o.CountParam, 1)
	if err != nil {
		return step{}, err
	}
	template, err := at.manifest(at.path(o.TemplatePath), o.TemplateParams, count)
	if err != nil {
		return step{}, err
	}
	return step{name: o.Opcode, manifests: []*manifest{template}, do: func(ctx context.Context, r *run) error {
		if o.Namespace != "" {
			if err := r.insistOnNamespace(ctx, o.Namespace); err != nil {
				return err
			}
		}
		return inParallel(ctx, count, func(i int) error {
			_, err := r.createFrom(ctx, template, i, o.Namespace)
			return err
		})
	}}, nil
}

// createPodGroups creates groups of pods.
type createPodGroups struct{ createAny }

// updateAny replaces objects by what a template says, so many a second. Nodes get the status of the template too.
type updateAny struct {
	opcode
	Count           int      `json:"count"`
	CountParam      string   `json:"countParam"`
	Namespace       string   `json:"namespace"`
	TemplatePath    string   `json:"templatePath"`
	UpdatePerSecond int      `json:"updatePerSecond"`
	Subresources    []string `json:"subresources"`
}

func (o *updateAny) prepare(at place) (step, error) {
	count, err := at.count(o.Count, o.CountParam, 1)
	if err != nil {
		return step{}, err
	}
	template, err := at.manifest(at.path(o.TemplatePath), nil, count)
	if err != nil {
		return step{}, err
	}
	return step{name: o.Opcode, manifests: []*manifest{template}, do: func(ctx context.Context, r *run) error {
		return atPace(ctx, count, o.UpdatePerSecond, func(i int) error { return o.update(ctx, r, template, i) })
	}}, nil
}

func (o *updateAny) update(ctx context.Context, r *run, template *manifest, index int) error {
	changed, err := template.any(index)
	if err != nil {
		return err
	}
	resource, err := r.resourceOf(changed, o.Namespace)
	if err != nil {
		return err
	}
	describe := func(err error) error {
		return fmt.Errorf("updating %s %s: %w", changed.GetKind(), changed.GetName(), err)
	}
	if _, err := resource.Update(ctx, changed, metav1.UpdateOptions{}, o.Subresources...); err != nil {
		return describe(err)
	}
	if changed.GetKind() == "Node" && len(o.Subresources) == 0 {
		if _, err := resource.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
			return describe(err)
		}
	}
	return nil
}

// churn creates objects, or creates and deletes them, until the workload is done.
type churn struct {
	opcode
	// Mode is create, or recreate: each of the templates has so many objects, of which one comes or goes at a time.
	Mode string `json:"mode"`
	// Number is how many objects there are at most of each template; zero means no limit.
	Number               int      `json:"number"`
	IntervalMilliseconds int      `json:"intervalMilliseconds"`
	TemplatePaths        []string `json:"templatePaths"`
	Namespace            string   `json:"namespace"`
}

func (o *churn) prepare(at place) (step, error) {
	if o.Mode != "create" && o.Mode != "recreate" || o.Mode == "recreate" && o.Number < 1 {
		return step{}, fmt.Errorf("churn: the runner does not know the mode %q with number %d", o.Mode, o.Number)
	}
	prepared := step{name: o.Opcode}
	for _, path := range o.TemplatePaths {
		template, err := at.manifest(at.path(path), nil, o.Number)
		if err != nil {
			return step{}, err
		}
		prepared.manifests = append(prepared.manifests, template)
	}
	namespace := at.namespace(o.Namespace)
	prepared.do = func(ctx context.Context, r *run) error {
		if err := r.insistOnNamespace(ctx, namespace); err != nil {
			return err
		}
		r.inBackground(ctx, func(ctx context.Context) error {
			return o.goOn(ctx, r, prepared.manifests, namespace)
		})
		return nil
	}
	return prepared, nil
}

func (o *churn) goOn(ctx context.Context, r *run, templates []*manifest, namespace string) error {
	ticker := time.NewTicker(time.Duration(o.IntervalMilliseconds) * time.Millisecond)
	defer ticker.Stop()
	present := make([][]*unstructured.Unstructured, len(templates))
	for round := 0; o.Mode == "recreate" || o.Number == 0 || round < o.Number; round++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		comes := o.Mode == "create" || round/o.Number%2 == 0
		for i, template := range templates {
			if comes {
				made, err := r.createFrom(ctx, template, round, namespace)
				if err != nil {
					return err
				}
				present[i] = append(present[i], made)
				continue
			}
			goes := present[i][0]
			present[i] = present[i][1:]
			resource, err := r.resourceOf(goes, namespace)
			if err != nil {
				return err
			}
			if err := resource.Delete(ctx, goes.GetName(), metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}); err != nil {
				return fmt.Errorf("deleting %s %s: %w", goes.GetKind(), goes.GetName(), err)
			}
		}
	}
	return nil
}

// createFrom creates an object of a template.
func (r *run) createFrom(ctx context.Context, template *manifest, index int, namespace string) (*unstructured.Unstructured, error) {
	object, err := template.any(index)
	if err != nil {
		return nil, err
	}
	resource, err := r.resourceOf(object, namespace)
	if err != nil {
		return nil, err
	}
	made, err := resource.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return made, nil
}

// resourceOf returns the client for the kind of an object.
func (r *run) resourceOf(object *unstructured.Unstructured, namespace string) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return r.dynamic.Resource(mapping.Resource), nil
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return r.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}
