// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"context"
	"fmt"
	"time"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/randomcluster"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

// setting is which plugins run, and of which project.
type setting struct {
	registry runtime.Registry
	// only are the plugins of the profile, in addition to PrioritySort and DefaultBinder; nil means all of the default profile.
	only []string
}

func (s setting) options() simulate.Options {
	options := simulate.Options{Registry: s.registry, CallLimit: -1}
	if s.only == nil {
		return options
	}
	options.Configuration = profiles.Default()
	var enabled []configv1.Plugin
	for _, plugin := range append([]string{"PrioritySort", "DefaultBinder"}, s.only...) {
		enabled = append(enabled, configv1.Plugin{Name: plugin})
	}
	options.Configuration.Profiles[0].Plugins.MultiPoint.Enabled = enabled
	return options
}

// String names the profile for a message.
func (s setting) String() string {
	if s.only == nil {
		return "the default profile"
	}
	return fmt.Sprint("a profile with ", s.only)
}

// auditRandom audits a random cluster, and returns what happened in it as well.
func (s setting) auditRandom(t randomcluster.T, seed uint64) (*inspect.Audit, []randomcluster.Step) {
	t.Helper()
	options := s.options()
	auditor := inspect.NewAuditor(t.Context())
	auditor.Observe(&options)
	cluster, err := simulate.NewCluster(t.Context(), options)
	if err != nil {
		t.Fatal(err)
		return nil, nil
	}
	defer cluster.Close()
	auditor.Watch(cluster)
	random := randomcluster.New(t, cluster, seed)
	random.Run()
	return auditor.Audit(), random.Steps()
}

// audit audits a scenario.
func (s setting) audit(ctx context.Context, text []byte) (*inspect.Audit, error) {
	input, err := simulate.Parse("scenario.yaml", text)
	if err != nil {
		return nil, err
	}
	options := s.options()
	options.MaxVirtualTime = time.Hour
	return inspect.RunAudit(ctx, input, options)
}
