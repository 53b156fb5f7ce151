// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/framework"
)

// defaultExtenderTimeout is the HTTP timeout of extenders that set none.
const defaultExtenderTimeout = 5 * time.Second

const fitPlugin = "NodeResourcesFit"

// ApplyExtenders returns the extenders in the order in which they are asked, those
// that may be ignored when they fail last, and with their timeouts defaulted.
//
// Resources that the extenders manage and the scheduler is to ignore replace
// ignoredResources in the NodeResourcesFit arguments of every profile of c. It is an
// error if there are such resources and a profile without these arguments.
func (c *Configuration) ApplyExtenders() ([]configv1.Extender, error) {
	var required, ignorable []configv1.Extender
	var ignored []string
	for i := range c.Extenders {
		extender := *c.Extenders[i].DeepCopy()
		if extender.HTTPTimeout.Duration == 0 {
			extender.HTTPTimeout.Duration = defaultExtenderTimeout
		}
		for _, resource := range extender.ManagedResources {
			if resource.IgnoredByScheduler {
				ignored = append(ignored, resource.Name)
			}
		}
		if extender.Ignorable {
			ignorable = append(ignorable, extender)
		} else {
			required = append(required, extender)
		}
	}
	if len(ignored) > 0 {
		for i := range c.Profiles {
			if err := c.Profiles[i].ignoreResources(ignored); err != nil {
				return nil, fmt.Errorf("profile %q: couldn't build extenders: %w", c.Profiles[i].SchedulerName, err)
			}
		}
	}
	return append(required, ignorable...), nil
}

// ignoreResources lets NodeResourcesFit ignore these resources and no others.
func (p *Profile) ignoreResources(resources []string) error {
	for i := range p.PluginConfig {
		args, isFit := p.PluginConfig[i].Args.(*configv1.NodeResourcesFitArgs)
		if p.PluginConfig[i].Name != fitPlugin || !isFit || args == nil {
			continue
		}
		args = args.DeepCopy()
		args.IgnoredResources = slices.Clone(resources)
		p.PluginConfig[i].Args = args
		return nil
	}
	return errors.New("can't find NodeResourcesFitArgs in plugin config")
}

func validateExtenders(path *field.Path, extenders []configv1.Extender) field.ErrorList {
	var errs field.ErrorList
	binders := 0
	managed := sets.New[string]()
	for i, extender := range extenders {
		if extender.PrioritizeVerb != "" && extender.Weight <= 0 {
			errs = append(errs, field.Invalid(path.Index(i).Child("weight"), extender.Weight, "must have a positive weight applied to it"))
		}
		if extender.BindVerb != "" {
			binders++
		}
		for j, resource := range extender.ManagedResources {
			namePath := path.Index(i).Child("managedResources").Index(j).Child("name")
			errs = append(errs, validateExtendedResource(namePath, resource.Name)...)
			if managed.Has(resource.Name) {
				errs = append(errs, field.Invalid(namePath, resource.Name, "duplicate extender managed resource name"))
			}
			managed.Insert(resource.Name)
		}
	}
	if binders > 1 {
		errs = append(errs, field.Invalid(path, fmt.Sprintf("found %d extenders implementing bind", binders),
			"only one extender can implement bind"))
	}
	return errs
}

func validateExtendedResource(path *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	if len(errs) == 0 && !framework.IsExtendedResourceName(v1.ResourceName(name)) {
		errs = append(errs, field.Invalid(path, name, "is an invalid extended resource name"))
	}
	return errs
}
