// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rackbudget

import (
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rouse-scheduler/rouse/runtime"
)

// Args are the arguments of the plugin, as they are written in a profile.
type Args struct {
	// PodsPerRack is how many pods of a team may run in a rack.
	PodsPerRack int `json:"podsPerRack"`
	// RackLabel is the label of nodes that names their rack. Nodes without it take any pod.
	RackLabel string `json:"rackLabel"`
	// TeamLabel is the label of pods that names their team. Pods without it go anywhere.
	TeamLabel string `json:"teamLabel"`
}

// decode reads the arguments that a profile gives the plugin, if it does. An argument that does not exist is an error,
// because it is most likely misspelled; where it should be ignored, runtime.DecodeInto does that.
func decode(written apiruntime.Object) (Args, error) {
	args := Args{PodsPerRack: 2, RackLabel: "example.com/rack", TeamLabel: "example.com/team"}
	if err := runtime.DecodeStrict(written, &args); err != nil {
		return Args{}, err
	}
	return args, args.validate()
}

// validate returns errors with the names of the fields, by which the commands find the lines of the configuration.
func (a Args) validate() error {
	var errs field.ErrorList
	if a.PodsPerRack < 1 {
		errs = append(errs, field.Invalid(field.NewPath("podsPerRack"), a.PodsPerRack, "must be at least 1"))
	}
	if a.RackLabel == "" {
		errs = append(errs, field.Required(field.NewPath("rackLabel"), "name the label of nodes that says which rack they are in"))
	}
	if a.TeamLabel == "" {
		errs = append(errs, field.Required(field.NewPath("teamLabel"), "name the label of pods that says which team they belong to"))
	}
	return errs.ToAggregate()
}
