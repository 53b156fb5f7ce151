// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With one rule of deploy taken away, the log says which permission is missing.
func TestMissingRulesAreNamed(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	front := StartFront(t, f.Plane, nil)
	front.LoseBindings()
	token := f.scraper(t)
	cluster, lease := f.Manifests.ClusterRoles[0], f.Manifests.Roles[0]
	all := len(cluster.Rules) + len(lease.Rules)
	for number := range all + 1 { // the last one lacks nothing
		name := "nothing"
		var missing rbacv1.PolicyRule
		rules, leaseRules := cluster.DeepCopy(), lease.DeepCopy()
		switch inLease := number - len(cluster.Rules); {
		case inLease < 0:
			missing = cluster.Rules[number]
			rules.Rules = append(rules.Rules[:number:number], rules.Rules[number+1:]...)
		case number < all:
			missing = lease.Rules[inLease]
			leaseRules.Rules = append(leaseRules.Rules[:inLease:inLease], leaseRules.Rules[inLease+1:]...)
		}
		if missing.Resources != nil {
			name = fmt.Sprintf("%s %s", strings.Join(missing.Verbs, ","), missing.Resources[0])
			if missing.APIGroups[0] != "" {
				name += "." + missing.APIGroups[0]
			}
		}
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			f.setRules(t, rules, leaseRules)
			s := f.Rouse(t, "rouse", front, nil)
			f.provoke(t, s, token, number, func() bool { return missing.Resources != nil && named(s.Log(), missing) })
			if complained := strings.Contains(s.Log(), "does not permit a request"); missing.Resources == nil && complained {
				t.Errorf("with all rules, the log names a missing one")
			}
		})
	}
}

// named reports whether a line of the log names one of the permissions of the rule.
func named(log string, rule rbacv1.PolicyRule) bool {
	for line := range strings.Lines(log) {
		line = strings.ReplaceAll(line, `\"`, `"`)
		for _, verb := range rule.Verbs {
			if strings.Contains(line, fmt.Sprintf("cannot %s resource %q in API group %q", verb, rule.Resources[0], rule.APIGroups[0])) {
				return true
			}
		}
	}
	return false
}

// setRules gives the scheduler other rules, and deletes the Lease, which is to be created again.
func (f *Fixture) setRules(t *testing.T, cluster *rbacv1.ClusterRole, lease *rbacv1.Role) {
	t.Helper()
	ctx := t.Context()
	must(&corner{t: t}, "role")(f.Client.RbacV1().ClusterRoles().Update(ctx, cluster, metav1.UpdateOptions{}))
	must(&corner{t: t}, "role")(f.Client.RbacV1().Roles(lease.Namespace).Update(ctx, lease, metav1.UpdateOptions{}))
	err := f.Client.CoordinationV1().Leases(lease.Namespace).Delete(ctx, "kube-scheduler", metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// provoke makes the scheduler use all its rights but those for volumes, until something has been found. If nothing is,
// it goes to the end, and everything must have worked.
func (f *Fixture) provoke(t *testing.T, s *Scheduler, token string, number int, found func() bool) {
	t.Helper()
	ctx := t.Context()
	c := newCorner(t, f.Client, f.SchedulerName(t), number)
	c.node("n1")
	c.podOn("n1", "victim", asking("4"))
	c.pod("unschedulable", asking("100"))
	c.pod("preemptor", func(pod *v1.Pod) { pod.Spec.PriorityClassName = "system-node-critical" })
	last := ""
	WaitFor(ctx, t, 30*time.Second, func() (bool, string) {
		if found() {
			return true, ""
		}
		answer, err := s.Read(ctx, "/metrics", token)
		scraped := err == nil && answer.Code == http.StatusOK
		pod, err := f.Client.CoreV1().Pods(c.namespace).Get(ctx, "preemptor", metav1.GetOptions{})
		c.check("pod", err)
		done := scraped && pod.Spec.NodeName != "" && c.scheduled("unschedulable").Status == v1.ConditionFalse
		if answer, err := s.Read(ctx, "/readyz", ""); err == nil {
			last = answer.Body
		}
		return done, fmt.Sprintf("the log to name the missing rule, or all to work: scraped %v, preemptor on %q; readyz: %s",
			scraped, pod.Spec.NodeName, last)
	})
}
