// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginargs

import (
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/profiles"
)

// Of returns the arguments of the named in-tree plugin; T is their type, such as configv1.NodeAffinityArgs. Nil gives
// the default ones. Other arguments must have all defaults filled in, as they have in
// every loaded profile. Arguments of another type are an error.
func Of[T any](plugin string, args apiruntime.Object) (*T, error) {
	if args == nil {
		args = profiles.DefaultArgs(plugin)
	}
	typed, ok := args.(any).(*T)
	if !ok || typed == nil {
		return nil, fmt.Errorf("want args to be of type %sArgs, got %T", plugin, args)
	}
	return typed, nil
}
