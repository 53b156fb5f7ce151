// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"fmt"
	"strings"

	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// Bounds of what is written in scoring shapes and resource weights.
const (
	maxUtilization    = 100
	maxShapeScore     = 10
	maxResourceWeight = 100
)

// validateNodeResourcesFitArgs checks arguments of NodeResourcesFit.
func validateNodeResourcesFitArgs(path *field.Path, args *configv1.NodeResourcesFitArgs, _ Features) field.ErrorList {
	var errs field.ErrorList
	for i, resource := range args.IgnoredResources {
		errs = append(errs, metavalidation.ValidateLabelName(resource, child(path, "ignoredResources").Index(i))...)
	}
	for i, group := range args.IgnoredResourceGroups {
		path := child(path, "ignoredResourceGroups").Index(i)
		if strings.Contains(group, "/") {
			errs = append(errs, field.Invalid(path, group, "resource group name can't contain '/'"))
		}
		errs = append(errs, metavalidation.ValidateLabelName(group, path)...)
	}
	path = child(path, "scoringStrategy")
	if args.ScoringStrategy == nil {
		return append(errs, field.Required(path, "ScoringStrategy field is required"))
	}
	return append(errs, validateScoringStrategy(path, args.ScoringStrategy)...)
}

func validateScoringStrategy(path *field.Path, strategy *configv1.ScoringStrategy) field.ErrorList {
	var errs field.ErrorList
	ratioPath := path.Child("requestedToCapacityRatio")
	switch strategy.Type {
	case configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio:
	default:
		errs = append(errs, field.NotSupported(path.Child("type"), strategy.Type, []configv1.ScoringStrategyType{
			configv1.LeastAllocated, configv1.MostAllocated, configv1.RequestedToCapacityRatio,
		}))
	}
	for i, resource := range strategy.Resources {
		if resource.Weight < 1 || resource.Weight > maxResourceWeight {
			errs = append(errs, field.Invalid(path.Child("resources").Index(i).Child("weight"), resource.Weight,
				fmt.Sprintf("resource weight of %s not in valid range (0, %d]", resource.Name, maxResourceWeight)))
		}
	}
	ratio := strategy.RequestedToCapacityRatio
	switch wanted := strategy.Type == configv1.RequestedToCapacityRatio; {
	case wanted && ratio == nil:
		errs = append(errs, field.Required(ratioPath, "must be specified when type is RequestedToCapacityRatio"))
	case wanted:
		errs = append(errs, validateShape(ratioPath.Child("shape"), ratio.Shape)...)
	case ratio != nil:
		errs = append(errs, field.Forbidden(ratioPath, "must be nil when type is not RequestedToCapacityRatio"))
	}
	return errs
}

// validateShape checks the points of a function from utilization to score.
func validateShape(path *field.Path, shape []configv1.UtilizationShapePoint) field.ErrorList {
	if len(shape) == 0 {
		return field.ErrorList{field.Required(path, "at least one point must be specified")}
	}
	var errs field.ErrorList
	for i := 1; i < len(shape); i++ {
		if shape[i].Utilization <= shape[i-1].Utilization {
			errs = append(errs, field.Invalid(path.Index(i).Child("utilization"), shape[i].Utilization,
				"values must be sorted in increasing order"))
			break
		}
	}
	for i, point := range shape {
		if point.Utilization < 0 || point.Utilization > maxUtilization {
			errs = append(errs, field.Invalid(path.Index(i).Child("utilization"), point.Utilization,
				fmt.Sprintf("not in valid range [0, %d]", maxUtilization)))
		}
		if point.Score < 0 || point.Score > maxShapeScore {
			errs = append(errs, field.Invalid(path.Index(i).Child("score"), point.Score,
				fmt.Sprintf("not in valid range [0, %d]", maxShapeScore)))
		}
	}
	return errs
}
