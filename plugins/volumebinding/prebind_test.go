// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// checkFailure checks that PreBind failed with an error that has all the parts.
func checkFailure(t *testing.T, message string, parts ...string) {
	t.Helper()
	for _, part := range append([]string{"binding volumes: "}, parts...) {
		if !strings.Contains(message, part) {
			t.Errorf("got message %q, want %q in it", message, part)
		}
	}
}

// TestWaiting has pod p with claim c. Either there is volume v for it, or a volume is made.
func TestWaiting(t *testing.T) {
	const existing, made = true, false
	lose := func(volume *v1.PersistentVolume) { volume.Spec.ClaimRef = nil }
	loseUID := func(volume *v1.PersistentVolume) { volume.Spec.ClaimRef.UID = "" }
	tests := []struct {
		name   string
		exists bool
		after  time.Duration
		do     func(*cluster)
		want   string // in the error; none if empty
		took   time.Duration
	}{
		{"existing: bound", existing, 5 * time.Second, func(c *cluster) { c.claim("c", boundTo("v")) }, "", 5 * time.Second},
		{"existing: bound at once", existing, 1, func(c *cluster) { c.claim("c", boundTo("v")) }, "", 1},
		{"existing: bound between two checks", existing, 1500 * time.Millisecond,
			func(c *cluster) { c.claim("c", boundTo("v")) }, "", 1500 * time.Millisecond},
		{"existing: half bound", existing, time.Second, func(c *cluster) {
			c.claim("c", func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "v" })
		}, "the claims are not bound after 1m40s", bindTimeout},
		{"existing: something else changes", existing, time.Second, func(c *cluster) { c.volume("v") },
			"deadline exceeded", bindTimeout},
		{"existing: claim reference reset", existing, time.Second, func(c *cluster) { c.volume("v", lose) },
			`ClaimRef got reset for pv "v"`, time.Second},
		{"existing: claim reference without a UID", existing, time.Second, func(c *cluster) { c.volume("v", loseUID) },
			`ClaimRef got reset for pv "v"`, time.Second},
		{"existing: node affinity fails", existing, time.Second, func(c *cluster) { c.volume("v", reachableFrom(zone, "b")) },
			`pv "v" node affinity doesn't match node "n": no matching NodeSelectorTerms`, time.Second},
		{"existing: volume deleted", existing, time.Second, func(c *cluster) { c.remove("persistentvolumes", "", "v") },
			`persistentvolume "v" not found`, time.Second},
		{"existing: claim deleted", existing, time.Second, func(c *cluster) { c.remove("persistentvolumeclaims", "default", "c") },
			`persistentvolumeclaim "default/c" not found`, time.Second},

		{"made: bound", made, 90 * time.Second, func(c *cluster) {
			c.create(volume("new", waiting, "1Gi", byController, reachableFrom(zone, "a")))
			c.claim("c", boundTo("new"))
		}, "", 90 * time.Second},
		{"made: bound before the volume is seen", made, time.Second, func(c *cluster) {
			c.claim("c", boundTo("new"))
			c.after(time.Minute, func() { c.create(volume("new", waiting, "1Gi", byController)) })
		}, "", time.Minute + time.Second},
		{"made: never bound", made, time.Second, func(*cluster) {}, "the claims are not bound after 1m40s", bindTimeout},
		{"made: half bound", made, time.Second, func(c *cluster) {
			c.create(volume("new", waiting, "1Gi", byController))
			c.claim("c", func(claim *v1.PersistentVolumeClaim) { claim.Spec.VolumeName = "new" })
		}, "the claims are not bound", bindTimeout},
		{"made: elsewhere", made, time.Second, func(c *cluster) {
			c.create(volume("new", waiting, "1Gi", byController, reachableFrom(zone, "b")))
			c.claim("c", boundTo("new"))
		}, `pv "new" node affinity doesn't match node "n"`, time.Second},
		{"made: provisioner gives up", made, time.Second, func(c *cluster) { c.claim("c", annotated(map[string]string{"other": "x"})) },
			`provisioning failed for PVC "c"`, time.Second},
		{"made: another node is selected", made, time.Second, func(c *cluster) { c.claim("c", selected("m")) },
			`provisioning failed for PVC "c"`, time.Second},
		{"made: all annotations reset", made, time.Second, func(c *cluster) { c.claim("c", annotated(nil)) },
			`selectedNode annotation reset for PVC "c"`, time.Second},
		{"made: claim deleted", made, time.Second, func(c *cluster) { c.remove("persistentvolumeclaims", "default", "c") },
			`persistentvolumeclaim "default/c" not found`, time.Second},

		// Pods and nodes are looked at every second.
		{"pod deleted", made, 3500 * time.Millisecond, func(c *cluster) { c.remove("pods", "default", "p") },
			`pod does not exist any more: pod "p" not found`, 4 * time.Second},
		{"node deleted", existing, 3500 * time.Millisecond, func(c *cluster) { c.remove("nodes", "", "n") },
			`node "n" not found`, 4 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := []apiruntime.Object{pending("c", waiting, "1Gi")}
				if tt.exists {
					objects = []apiruntime.Object{pending("c", static, "1Gi"), volume("v", static, "1Gi", reachableFrom(zone, "a"))}
				}
				c := newCluster(t, claiming("c"), objects...)
				c.after(tt.after, func() { tt.do(c) })
				status, took := c.preBind()
				if took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.want == "" {
					fixture.CheckStatus(t, status, nil)
					return
				}
				if !status.IsError() {
					t.Fatalf("got %v, want Error", status.Code())
				}
				checkFailure(t, status.Message(), tt.want)
				c.pl.Unreserve(t.Context(), c.state, c.pod, "n")
			})
		})
	}
}

func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, claiming("c"), pending("c", waiting, "1Gi"))
		preempted := errors.New("the pod is preempted")
		ctx, cancel := context.WithCancelCause(t.Context())
		c.after(3*time.Second, func() { cancel(preempted) })
		status := c.pl.PreBind(ctx, c.state, c.pod, "n")
		if !errors.Is(status.AsError(), preempted) {
			t.Errorf("got error %v, want the cause of the end", status.AsError())
		}
		checkFailure(t, status.Message(), "gave up after 3s")
	})
}

// TestWrites looks at what is written, and in which order.
func TestWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, claiming("new", "c", "d"), pending("new", waiting, "1Gi"),
			pending("c", static, "1Gi"), volume("v", static, "1Gi"), pending("d", static, "2Gi"), volume("w", static, "2Gi", claimedBy("d")))
		c.after(time.Second, func() {
			c.create(volume("made", waiting, "1Gi"))
			c.claim("c", boundTo("v"))
			c.claim("d", boundTo("w"))
			c.claim("new", boundTo("made"))
		})
		status, took := c.preBind()
		fixture.CheckStatus(t, status, nil)
		if took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		want := []string{"persistentvolumes/v", "persistentvolumes/w", "persistentvolumeclaims/new"}
		if diff := cmp.Diff(want, c.updates); diff != "" {
			t.Errorf("updates differ (-want +got):\n%s", diff)
		}
		for name, want := range map[string]struct{ claim, annotation string }{"v": {"c", "yes"}, "w": {"d", ""}} {
			object, err := c.client.Tracker().Get(resourceOf("persistentvolumes"), "", name)
			if err != nil {
				t.Fatal(err)
			}
			volume := object.(*v1.PersistentVolume)
			reference := v1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "default", Name: want.claim, UID: volume.Spec.ClaimRef.UID, ResourceVersion: "1",
			}
			if diff := cmp.Diff(&reference, volume.Spec.ClaimRef); diff != "" || string(reference.UID) != "default/"+want.claim {
				t.Errorf("reference of volume %s differs (-want +got):\n%s", name, diff)
			}
			// A volume that the user claimed for the claim is not marked as bound by a controller.
			if got := volume.Annotations["pv.kubernetes.io/bound-by-controller"]; got != want.annotation {
				t.Errorf("volume %s: got annotation %q, want %q", name, got, want.annotation)
			}
		}
	})
}

// TestRefusedWrites has a pod with two claims for existing volumes v and w, and one for which a volume is made.
func TestRefusedWrites(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "x", errors.New("it was modified"))
	tests := []struct {
		refused string
		updates int
		// free are the claims of other pods that find volumes afterwards.
		free []string
		want []string
	}{
		{"persistentvolumes/v", 1, []string{"small", "large"}, []string{`binding persistentvolume "v" to claim "default/c": `, "it was modified"}},
		{"persistentvolumes/w", 2, []string{"large"}, []string{`binding persistentvolume "w" to claim "default/d": `}},
		{"persistentvolumeclaims/new", 3, nil, []string{`requesting a volume for claim "default/new": `}},
	}
	for _, tt := range tests {
		t.Run(tt.refused, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, claiming("new", "c", "d"), pending("new", waiting, "1Gi"),
					pending("c", static, "1Gi"), volume("v", static, "1Gi"), pending("d", static, "5Gi"), volume("w", static, "5Gi"),
					pending("small", static, "1Gi"), pending("large", static, "5Gi"))
				c.refuse[tt.refused] = conflict
				status, took := c.preBind()
				if !apierrors.IsConflict(status.AsError()) || took != 0 {
					t.Errorf("got error %v after %v, want a conflict at once", status.AsError(), took)
				}
				checkFailure(t, status.Message(), tt.want...)
				if len(c.updates) != tt.updates {
					t.Errorf("got updates %v, want %d", c.updates, tt.updates)
				}
				check := func() {
					t.Helper()
					for _, claim := range []string{"small", "large"} {
						var want = never(noVolume)
						for _, free := range tt.free {
							if free == claim || free == "large" && claim == "small" {
								want = nil
							}
						}
						checkFits(t, c.pl, "n", want, claim)
					}
					checkFits(t, c.pl, "m", nil, "new")
				}
				check()
				c.pl.Unreserve(t.Context(), c.state, c.pod, "n")
				check()
			})
		})
	}
}

// TestBoundDuringTheWrite has a server that binds claims before it answers, and informers that know at once, in the
// goroutine that writes. PreBind must not wait.
func TestBoundDuringTheWrite(t *testing.T) {
	for name, objects := range map[string][]apiruntime.Object{
		"existing": {pending("c", static, "1Gi"), volume("v", static, "1Gi")},
		"made":     {pending("c", waiting, "1Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, factory := newStillCluster(t, claiming("c"), objects...)
				c.client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, apiruntime.Object, error) {
					switch object := action.(clienttesting.UpdateAction).GetObject().(type) {
					case *v1.PersistentVolume:
						object.ResourceVersion = "20"
						bound := pending("c", static, "1Gi", boundTo("v"))
						bound.ResourceVersion = "21"
						fixture.Store(t, factory, object, bound)
						return true, object, nil
					case *v1.PersistentVolumeClaim:
						object.ResourceVersion = "20"
						bound := object.DeepCopy()
						boundTo("made")(bound)
						bound.ResourceVersion = "22"
						fixture.Store(t, factory, volume("made", waiting, "1Gi", byController), bound)
						return true, object, nil
					}
					return false, nil, nil
				})
				status, took := c.preBind()
				fixture.CheckStatus(t, status, nil)
				if took != 0 {
					t.Errorf("took %v, want no time", took)
				}
			})
		})
	}
}

// TestLateInformers has informers that show for three seconds what was there before the write. An old version is not
// mistaken for an answer.
func TestLateInformers(t *testing.T) {
	for name, objects := range map[string][]apiruntime.Object{
		"existing": {pending("c", static, "1Gi"), volume("v", static, "1Gi")},
		"made":     {pending("c", waiting, "1Gi")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, factory := newStillCluster(t, claiming("c"), objects...)
				c.after(2500*time.Millisecond, func() {
					claim := pending("c", waiting, "1Gi", selected("n"), boundTo("v"))
					claim.ResourceVersion = "20"
					volume := volume("v", static, "1Gi", byController)
					volume.ResourceVersion = "21"
					fixture.Store(t, factory, claim, volume)
				})
				status, took := c.preBind()
				fixture.CheckStatus(t, status, nil)
				if took != 3*time.Second {
					t.Errorf("took %v, want 3s", took)
				}
			})
		})
	}
}

// TestEqualVolumes has several volumes that are equally good. The first by name is taken, every time.
func TestEqualVolumes(t *testing.T) {
	for range 10 {
		c, _ := newStillCluster(t, claiming("c"), pending("c", static, "1Gi"),
			volume("v3", static, "1Gi"), volume("v1", static, "1Gi"), volume("v4", static, "1Gi"), volume("v2", static, "1Gi"))
		c.refuse["persistentvolumes/v1"] = errors.New("that is enough")
		if status := c.pl.PreBind(t.Context(), c.state, c.pod, "n"); !status.IsError() {
			t.Fatalf("got %v, want Error", status.Code())
		}
		if diff := cmp.Diff([]string{"persistentvolumes/v1"}, c.updates); diff != "" {
			t.Fatalf("updates differ (-want +got):\n%s", diff)
		}
	}
}
