// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// minBindingTimeout is the shortest time that claims may be given to bind.
const minBindingTimeout = time.Second

// validateDefaultPreemptionArgs checks arguments of DefaultPreemption. Like those of the other plugins it is called by
// [ValidateArgs].
func validateDefaultPreemptionArgs(path *field.Path, args *configv1.DefaultPreemptionArgs, _ Features) field.ErrorList {
	const percentageField, absoluteField = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"
	var errs field.ErrorList
	percentage, absolute := args.MinCandidateNodesPercentage, args.MinCandidateNodesAbsolute
	errs = append(errs, validateRange100(child(path, percentageField), percentage)...)
	if absolute != nil && *absolute < 0 {
		errs = append(errs, field.Invalid(child(path, absoluteField), *absolute, "not in valid range [0, inf)"))
	}
	if percentage != nil && absolute != nil && *percentage == 0 && *absolute == 0 {
		const detail = "cannot be zero at the same time as "
		errs = append(errs,
			field.Invalid(child(path, percentageField), *percentage, detail+absoluteField),
			field.Invalid(child(path, absoluteField), *absolute, detail+percentageField))
	}
	return errs
}

// validateInterPodAffinityArgs checks arguments of InterPodAffinity.
func validateInterPodAffinityArgs(path *field.Path, args *configv1.InterPodAffinityArgs, _ Features) field.ErrorList {
	return validateRange100(child(path, "hardPodAffinityWeight"), args.HardPodAffinityWeight)
}

func validateRange100(path *field.Path, value *int32) field.ErrorList {
	if value == nil || *value >= 0 && *value <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "not in valid range [0, 100]")}
}

// validateNodeAffinityArgs checks arguments of NodeAffinity.
func validateNodeAffinityArgs(path *field.Path, args *configv1.NodeAffinityArgs, _ Features) field.ErrorList {
	if args.AddedAffinity == nil {
		return nil
	}
	path = child(path, "addedAffinity")
	var errs field.ErrorList
	if required := args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		path := path.Child("requiredDuringSchedulingIgnoredDuringExecution")
		_, err := nodeaffinity.NewNodeSelector(required, field.WithPath(path))
		errs = append(errs, fieldErrors(path, err)...)
	}
	if preferred := args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
		path := path.Child("preferredDuringSchedulingIgnoredDuringExecution")
		_, err := nodeaffinity.NewPreferredSchedulingTerms(preferred, field.WithPath(path))
		errs = append(errs, fieldErrors(path, err)...)
	}
	return errs
}

// fieldErrors returns the field errors that an aggregate consists of.
func fieldErrors(path *field.Path, err error) field.ErrorList {
	if err == nil {
		return nil
	}
	causes := []error{err}
	var aggregate utilerrors.Aggregate
	if errors.As(err, &aggregate) {
		causes = utilerrors.Flatten(aggregate).Errors()
	}
	var errs field.ErrorList
	for _, cause := range causes {
		var fieldError *field.Error
		if !errors.As(cause, &fieldError) {
			fieldError = field.Invalid(path, field.OmitValueType{}, cause.Error())
		}
		errs = append(errs, fieldError)
	}
	return errs
}

// validateNodeResourcesBalancedAllocationArgs checks arguments of
// NodeResourcesBalancedAllocation.
func validateNodeResourcesBalancedAllocationArgs(path *field.Path, args *configv1.NodeResourcesBalancedAllocationArgs, _ Features) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, resource := range args.Resources {
		path := child(path, "resources").Index(i)
		if names.Has(resource.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), resource.Name))
		}
		names.Insert(resource.Name)
		if resource.Weight != 1 {
			errs = append(errs, field.Invalid(path.Child("weight"), resource.Weight, "must be 1"))
		}
	}
	return errs
}

// validatePodTopologySpreadArgs checks arguments of PodTopologySpread.
func validatePodTopologySpreadArgs(path *field.Path, args *configv1.PodTopologySpreadArgs, _ Features) field.ErrorList {
	var errs field.ErrorList
	typePath := child(path, "defaultingType")
	switch args.DefaultingType {
	case configv1.SystemDefaulting:
		if len(args.DefaultConstraints) > 0 {
			errs = append(errs, field.Invalid(typePath, args.DefaultingType, "when .defaultConstraints are not empty"))
		}
	case configv1.ListDefaulting:
	default:
		errs = append(errs, field.NotSupported(typePath, args.DefaultingType,
			[]configv1.PodTopologySpreadConstraintsDefaulting{configv1.SystemDefaulting, configv1.ListDefaulting}))
	}
	seen := sets.New[string]()
	for i, constraint := range args.DefaultConstraints {
		path := child(path, "defaultConstraints").Index(i)
		errs = append(errs, validateSpreadConstraint(path, constraint)...)
		key := fmt.Sprintf("{%s, %s}", constraint.TopologyKey, constraint.WhenUnsatisfiable)
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(path, key))
		}
		seen.Insert(key)
	}
	return errs
}

func validateSpreadConstraint(path *field.Path, constraint v1.TopologySpreadConstraint) field.ErrorList {
	var errs field.ErrorList
	if constraint.MaxSkew <= 0 {
		errs = append(errs, field.Invalid(path.Child("maxSkew"), constraint.MaxSkew, "not in valid range (0, inf)"))
	}
	if constraint.TopologyKey == "" {
		errs = append(errs, field.Required(path.Child("topologyKey"), "can not be empty"))
	} else {
		errs = append(errs, metavalidation.ValidateLabelName(constraint.TopologyKey, path.Child("topologyKey"))...)
	}
	switch constraint.WhenUnsatisfiable {
	case v1.DoNotSchedule, v1.ScheduleAnyway:
	case "":
		errs = append(errs, field.Required(path.Child("whenUnsatisfiable"), "can not be empty"))
	default:
		errs = append(errs, field.NotSupported(path.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable,
			[]v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}))
	}
	if constraint.LabelSelector != nil {
		errs = append(errs, field.Forbidden(path.Child("labelSelector"),
			"constraint must not define a selector, as they deduced for each pod"))
	}
	return errs
}

// validateVolumeBindingArgs checks arguments of VolumeBinding.
func validateVolumeBindingArgs(path *field.Path, args *configv1.VolumeBindingArgs, features Features) field.ErrorList {
	var errs field.ErrorList
	if timeout := args.BindTimeoutSeconds; timeout != nil && *timeout < 0 {
		errs = append(errs, field.Invalid(child(path, "bindTimeoutSeconds"), *timeout,
			"invalid BindTimeoutSeconds, should not be a negative value"))
	}
	path = child(path, "shape")
	switch {
	case !features.NoStorageCapacityScoring:
		errs = append(errs, validateShape(path, args.Shape)...)
	case args.Shape != nil:
		errs = append(errs, field.Invalid(path, args.Shape,
			"unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"))
	}
	return errs
}

// validateDynamicResourcesArgs checks arguments of DynamicResources.
func validateDynamicResourcesArgs(path *field.Path, args *configv1.DynamicResourcesArgs, features Features) field.ErrorList {
	var errs field.ErrorList
	switch timeout, path := args.FilterTimeout, child(path, "filterTimeout"); {
	case timeout == nil:
	case features.NoFilterTimeout:
		errs = append(errs, field.Forbidden(path, "DRASchedulingFilterTimeout feature gate is disabled"))
	case timeout.Duration < 0:
		errs = append(errs, field.Invalid(path, timeout, "must be zero or positive"))
	}
	switch timeout, path := args.BindingTimeout, child(path, "bindingTimeout"); {
	case timeout == nil:
	case features.NoBindingConditions:
		errs = append(errs, field.Forbidden(path, "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"))
	case timeout.Duration < minBindingTimeout:
		errs = append(errs, field.Invalid(path, timeout, "must be at least 1 second"))
	}
	return errs
}

// child appends a field to a path that may be nil.
func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}
