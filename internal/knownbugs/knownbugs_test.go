// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package knownbugs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/internal/knownbugs"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// TestKnownBugs plays the sequences of bugs that other schedulers had.
func TestKnownBugs(t *testing.T) {
	for _, bug := range knownbugs.All() {
		t.Run(bug.Name, func(t *testing.T) {
			if err := bug.Play(t, start); err != nil {
				t.Errorf("%s: %v", bug.Issue, err)
			}
		})
	}
}

// The page has a row for every bug, with a link to where it was reported.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/known-bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, bug := range knownbugs.All() {
		link := strings.Replace(bug.Issue, "#", "/issues/", 1)
		row := "`" + bug.Name + "` |"
		if bug.Issue != "" {
			row = "(https://github.com/" + link + ") " + row
		}
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/known-bugs.md has no row with %s", row)
		}
	}
}

// start is a knownbugs.Start.
func start(ctx context.Context, t *testing.T, parts knownbugs.Parts) knownbugs.Scheduler {
	t.Helper()
	options := scheduler.Options{
		Configuration: profiles.Default(),
		Registry:      plugins.NewInTreeRegistry(),
		Client:        parts.Client,
		Informers:     scheduler.NewInformerFactory(parts.Client),
		Recorder:      func(string) events.EventRecorderLogger { return parts.Recorder },
	}
	multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
	for _, plugin := range parts.Plugins {
		if err := options.Registry.Register(plugin.Name(), plugin.New); err != nil {
			t.Fatal(err)
		}
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: plugin.Name()})
	}
	s, err := scheduler.New(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	options.Informers.Start(ctx.Done())
	if err := s.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return knownbugs.Scheduler{
		InFlight: func() int { return s.Queue().Stats().InFlight },
		Wait: func() {
			if err := <-done; err != nil {
				t.Errorf("the scheduler ended with %v", err)
			}
			options.Informers.Shutdown()
		},
	}
}
