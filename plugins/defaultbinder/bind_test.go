// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultbinder

import (
	"context"
	"errors"
	"io"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func newPlugin(t *testing.T, handle *fixture.Handle) *plugin {
	t.Helper()
	built, err := New(t.Context(), nil, handle)
	if err != nil {
		t.Fatal(err)
	}
	return built.(*plugin)
}

func wantBinding() *v1.Binding {
	return &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "default/p"},
		Target:     v1.ObjectReference{Kind: "Node", Name: "n"},
	}
}

// apiServer answers every bind call with the next of the given errors, and with success when there are none left.
func apiServer(answers ...error) (client *fake.Clientset, bindings *[]*v1.Binding) {
	client, bindings = fake.NewClientset(), &[]*v1.Binding{}
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		*bindings = append(*bindings, action.(clienttesting.CreateAction).GetObject().(*v1.Binding))
		if call := len(*bindings) - 1; call < len(answers) {
			return true, nil, answers[call]
		}
		return true, nil, nil
	})
	return client, bindings
}

func TestBind(t *testing.T) {
	internal := apierrors.NewInternalError(errors.New("etcd"))
	unavailable := apierrors.NewServiceUnavailable("starting")
	pods := schema.GroupResource{Resource: "pods"}
	conflict := apierrors.NewConflict(pods, "p", errors.New("already assigned"))
	notFound := apierrors.NewNotFound(pods, "p")

	tests := []struct {
		name    string
		answers []error
		calls   int
		want    error
	}{
		{"success sends the exact binding", nil, 1, nil},
		{"API error surfaces", []error{notFound}, 1, notFound},
		{"a conflict is not retried", []error{conflict}, 1, conflict},
		{"internal error is retried", []error{internal}, 2, nil},
		{"service unavailable is retried", []error{unavailable, unavailable}, 3, nil},
		{"connection refused is retried", []error{syscall.ECONNREFUSED}, 2, nil},
		{"too many requests are retried", []error{apierrors.NewTooManyRequests("slowly", 0)}, 2, nil},
		{"a lost connection is retried", []error{&url.Error{Op: "Post", Err: io.EOF}}, 2, nil},
		{"a conflict after a lost connection", []error{&url.Error{Op: "Post", Err: io.EOF}, conflict}, 2, conflict},
		{"retries end", []error{internal, internal, internal, internal, internal}, 4, internal},
		{"a final error after a retry", []error{internal, notFound}, 2, notFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, bindings := apiServer(tt.answers...)
				status := newPlugin(t, &fixture.Handle{Client: client}).Bind(t.Context(), nil, objects.Pod("p").Build(), "n")
				if !errors.Is(status.AsError(), tt.want) || (tt.want != nil) != status.IsError() {
					t.Errorf("got status %v %q, want error %v", status.Code(), status.Message(), tt.want)
				}
				if len(*bindings) != tt.calls {
					t.Errorf("got %d calls, want %d", len(*bindings), tt.calls)
				}
				for _, binding := range *bindings {
					if diff := cmp.Diff(wantBinding(), binding); diff != "" {
						t.Errorf("binding differs (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// cacher is an API cacher that remembers the binding and finishes every call with finish.
type cacher struct {
	fwk.APICacher
	refuse, finish error
	binding        *v1.Binding
}

func (c *cacher) BindPod(binding *v1.Binding) (<-chan error, error) {
	c.binding = binding
	finished := make(chan error, 1)
	finished <- c.finish
	return finished, c.refuse
}

func (c *cacher) WaitOnFinish(ctx context.Context, finished <-chan error) error {
	select {
	case err := <-finished:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestBindThroughCacher(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		refuse, finish, want error
	}{
		"success":            {nil, nil, nil},
		"call refused":       {broken, nil, broken},
		"call fails at last": {nil, broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			cacher := &cacher{refuse: tt.refuse, finish: tt.finish}
			status := newPlugin(t, &fixture.Handle{Cacher: cacher}).Bind(t.Context(), nil, objects.Pod("p").Build(), "n")
			if !errors.Is(status.AsError(), tt.want) || (tt.want != nil) != status.IsError() {
				t.Errorf("got status %v %q, want error %v", status.Code(), status.Message(), tt.want)
			}
			if diff := cmp.Diff(wantBinding(), cacher.binding); diff != "" {
				t.Errorf("binding differs (-want +got):\n%s", diff)
			}
		})
	}
}
