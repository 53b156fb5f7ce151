// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rackbudget

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
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
// because it is most likely misspelled; where it should be ignored, runtime.DecodeInto is all it takes.
func decode(written apiruntime.Object) (Args, error) {
	args := Args{PodsPerRack: 2, RackLabel: "example.com/rack", TeamLabel: "example.com/team"}
	switch written := written.(type) {
	case nil:
	case *apiruntime.Unknown:
		decoder := json.NewDecoder(bytes.NewReader(written.Raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&args); err != nil {
			return Args{}, fmt.Errorf("decoding the arguments of %s: %w", Name, err)
		}
	default:
		return Args{}, fmt.Errorf("decoding the arguments of %s: unexpected %T", Name, written)
	}
	return args, args.validate()
}

func (a Args) validate() error {
	var errs []error
	if a.PodsPerRack < 1 {
		errs = append(errs, fmt.Errorf("podsPerRack is %d, but must be at least 1", a.PodsPerRack))
	}
	if a.RackLabel == "" {
		errs = append(errs, errors.New("rackLabel is empty"))
	}
	if a.TeamLabel == "" {
		errs = append(errs, errors.New("teamLabel is empty"))
	}
	return errors.Join(errs...)
}
