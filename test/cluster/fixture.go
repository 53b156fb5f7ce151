// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// Fixture is a cluster on which a folder of deploy has been applied. There is no kubelet, so its Deployment runs
// nothing: the test starts the schedulers itself, with what the Deployment says.
type Fixture struct {
	Plane     *ControlPlane
	Front     *Front              // without faults
	Admin     *restclient.Config  // through the front, with every right
	Client    clientset.Interface // the same
	Manifests *Manifests
	Token     string // of the service account of Rouse

	binaries Binaries
}

// NewFixture starts a control plane and applies the folder.
func NewFixture(ctx context.Context, tb testing.TB, binaries Binaries, folder string) *Fixture {
	tb.Helper()
	f := &Fixture{Plane: StartControlPlane(tb), binaries: binaries}
	f.Front = StartFront(tb, f.Plane, nil)
	loopback, err := clientset.NewForConfig(f.Plane.backend.Load().loopback)
	if err != nil {
		tb.Fatal(err)
	}
	f.Admin = f.Front.Config(f.tokenWithRoles(ctx, tb, loopback, "kube-system", "tester", "cluster-admin"))
	f.Admin.ContentType = "application/vnd.kubernetes.protobuf"
	if f.Client, err = clientset.NewForConfig(f.Admin); err != nil {
		tb.Fatal(err)
	}
	if f.Manifests, err = ReadManifests(folder); err != nil {
		tb.Fatal(err)
	}
	if err := f.Manifests.Apply(ctx, f.Client); err != nil {
		tb.Fatal(err)
	}
	account := f.Manifests.ServiceAccounts[0]
	f.Token = Token(ctx, tb, f.Client, account.Namespace, account.Name)
	return f
}

// Rouse starts a replica: the arguments and the configuration are those of deploy, the rights those of its service
// account.
func (f *Fixture) Rouse(tb testing.TB, name string, front *Front, settings map[string]any) *Scheduler {
	tb.Helper()
	return StartScheduler(tb, SchedulerOptions{
		Name:      name,
		Binary:    f.binaries.Rouse,
		Arguments: f.arguments(),
		Config:    f.Manifests.ConfigMaps[0].Data["scheduler.yaml"],
		Settings:  settings,
		API:       front.Config(f.Token),
	})
}

// arguments are those of the Deployment but for the path of the configuration, which is another one here.
func (f *Fixture) arguments() []string {
	var kept []string
	for _, argument := range f.Manifests.Deployments[0].Spec.Template.Spec.Containers[0].Args {
		if !strings.HasPrefix(argument, "--config=") {
			kept = append(kept, argument)
		}
	}
	return kept
}

// KubeScheduler starts kube-scheduler with a service account that has the roles that every cluster makes for it.
func (f *Fixture) KubeScheduler(ctx context.Context, tb testing.TB, front *Front, settings map[string]any) *Scheduler {
	tb.Helper()
	token := f.tokenWithRoles(ctx, tb, f.Client, "kube-system", "kube-scheduler", "system:kube-scheduler", "system:volume-scheduler")
	return StartScheduler(tb, SchedulerOptions{
		Name:     "kube-scheduler",
		Binary:   f.binaries.KubeScheduler,
		Config:   f.Manifests.ConfigMaps[0].Data["scheduler.yaml"],
		Settings: settings,
		API:      front.Config(token),
	})
}

// tokenWithRoles makes a service account with cluster roles, and returns a token of it. Unlike that of the loopback
// client, it is good for the next API server too.
func (f *Fixture) tokenWithRoles(ctx context.Context, tb testing.TB, client clientset.Interface, namespace, name string, roles ...string) string {
	tb.Helper()
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := insist(ctx, func() error {
		_, err := client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	for _, role := range roles {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(name+"-"+role, ":", "-")},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		}
		if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	return Token(ctx, tb, client, namespace, name)
}

// SchedulerName is the name under which the folder of deploy schedules pods.
func (f *Fixture) SchedulerName(tb testing.TB) string {
	tb.Helper()
	for line := range strings.Lines(f.Manifests.ConfigMaps[0].Data["scheduler.yaml"]) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "schedulerName: "); ok {
			return name
		}
	}
	tb.Fatal("the configuration of deploy names no scheduler")
	return ""
}
