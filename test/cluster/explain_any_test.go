// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// hanging are pods that plugins of kube-scheduler reject, one for each plugin that rejects pods by default.
func hanging() map[string]func(*corner) {
	disk := func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "d", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "d"}}}}
	}
	port := func(pod *v1.Pod) {
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
	}
	labelled := func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "web"} }
	return map[string]func(*corner){
		"NodeResourcesFit": func(c *corner) {
			c.node("n1")
			c.podOn("n1", "large", func(pod *v1.Pod) { pod.Spec.Containers[0].Resources.Requests = objects.Resources("cpu", "3500m") })
			c.pod("pod")
		},
		"NodeUnschedulable": func(c *corner) {
			c.node("n1", func(node *v1.Node) { node.Spec.Unschedulable = true })
			c.pod("pod")
		},
		"TaintToleration": func(c *corner) {
			c.node("n1", func(node *v1.Node) {
				node.Spec.Taints = []v1.Taint{{Key: "gpu", Value: "true", Effect: v1.TaintEffectNoSchedule}}
			})
			c.pod("pod")
		},
		"NodeAffinity": func(c *corner) {
			c.node("n1")
			c.pod("pod", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
		},
		"NodePorts": func(c *corner) {
			c.node("n1")
			c.podOn("n1", "first", port)
			c.pod("pod", port)
		},
		"PodTopologySpread": func(c *corner) {
			c.node("n1", func(node *v1.Node) { node.Labels["zone"] = "a" })
			c.node("n2", func(node *v1.Node) { node.Labels["zone"], node.Spec.Unschedulable = "b", true })
			c.podOn("n1", "first", labelled)
			c.pod("pod", labelled, func(pod *v1.Pod) {
				pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
					TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labelsOfWeb()},
				}}
			})
		},
		"InterPodAffinity": func(c *corner) {
			c.node("n1")
			c.podOn("n1", "first", labelled)
			c.pod("pod", func(pod *v1.Pod) {
				pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
					TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labelsOfWeb()},
				}}}}
			})
		},
		"VolumeRestrictions": func(c *corner) {
			c.node("n1")
			c.podOn("n1", "first", disk)
			c.pod("pod", disk)
		},
		"VolumeBinding": func(c *corner) {
			c.node("n1")
			c.class(driver, storagev1.VolumeBindingImmediate)
			c.claim("c")
			c.pod("pod", using("c"))
		},
		"VolumeZone": func(c *corner) {
			c.node("n1", func(node *v1.Node) { node.Labels[v1.LabelTopologyRegion] = "r" })
			c.boundClaim("c")
			c.changeVolume("c", func(pv *v1.PersistentVolume) {
				pv.Labels = map[string]string{v1.LabelTopologyRegion: "r", v1.LabelTopologyZone: "a"}
			})
			c.pod("pod", using("c"))
		},
		"NodeVolumeLimits": func(c *corner) {
			c.node("n1")
			c.csiNode("n1", 1)
			c.boundClaim("first")
			c.boundClaim("second")
			c.podOn("n1", "first", using("first"))
			c.pod("pod", using("second"))
		},
	}
}

// boundClaim creates a claim, and a volume of the same name to which it is bound.
func (c *corner) boundClaim(name string) {
	c.t.Helper()
	c.class(driver, storagev1.VolumeBindingImmediate)
	c.volume(name, name)
	c.claim(name)
	c.bindClaim(name, name)
}

func labelsOfWeb() map[string]string { return map[string]string{"app": "web"} }

// TestAdviceHelpsWithKubeScheduler has pods hang in a cluster that kube-scheduler runs, for each of its plugins: the explanation
// has the reasons of its message, and once each of its suggestions has been followed through the API, kube-scheduler binds the pod.
func TestAdviceHelpsWithKubeScheduler(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	f.KubeScheduler(ctx, t, f.Front, nil).WaitReady(ctx, t)
	folder := t.TempDir()
	kubeconfig, config := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "scheduler.yaml")
	if err := WriteKubeconfig(kubeconfig, f.Admin); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(f.Manifests.ConfigMaps[0].Data["scheduler.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	number := 0
	for plugin, hang := range hanging() {
		for suggestion, more := 0, true; more; suggestion++ {
			number++
			t.Run(fmt.Sprint(plugin, "/", suggestion), func(t *testing.T) {
				c := newCorner(t, f.Client, f.SchedulerName(t), number)
				t.Cleanup(func() {
					c.check("volumes", c.client.CoreV1().PersistentVolumes().DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
					c.check("CSI nodes", c.client.StorageV1().CSINodes().DeleteCollection(c.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
				})
				hang(c)
				c.waitRejected("pod", "nodes are available")
				message := c.scheduled("pod").Message
				explanation := explainAny(t, kubeconfig, config, c.namespace+"/pod")
				named := false
				for _, rejection := range explanation.RejectedBy {
					named = named || rejection.Plugin == plugin
					for _, reason := range rejection.Reasons {
						if !strings.Contains(message, reason.Reason) {
							t.Errorf("%s says %q, which is not in kube-scheduler's %q", rejection.Plugin, reason.Reason, message)
						}
					}
				}
				if more = suggestion+1 < len(explanation.Suggestions); !named || explanation.Message != message || suggestion >= len(explanation.Suggestions) {
					t.Fatalf("explanation %+v for %q", explanation, message)
				}
				for _, change := range explanation.Suggestions[suggestion].Changes {
					t.Log(change.Text)
					c.follow(change)
				}
				c.waitBound("pod", soon)
			})
		}
	}
}

// explainAny runs rouse explain on the objects of a cluster.
func explainAny(t *testing.T, kubeconfig, config, pod string) *inspect.Explanation {
	t.Helper()
	command := exec.CommandContext(t.Context(), settings.Rouse, "explain", "pod", pod, "--kubeconfig", kubeconfig, "--config", config, "-o", "json")
	var errors bytes.Buffer
	command.Stderr = &errors
	output, err := command.Output()
	if err != nil || errors.Len() > 0 {
		t.Fatalf("%v: %s", err, errors.String())
	}
	explanation := &inspect.Explanation{}
	if err := json.Unmarshal(output, explanation); err != nil {
		t.Fatalf("%v in:\n%s", err, output)
	}
	return explanation
}

// follow does what a change says, as a person would who has kubectl.
func (c *corner) follow(change inspect.Change) {
	c.t.Helper()
	switch change.Action {
	case inspect.ChangeTolerate:
		c.changePod(change.Name, func(pod *v1.Pod) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: change.Key, Operator: v1.TolerationOpExists})
		})
	case inspect.ChangeUncordon:
		c.changeNode(change.Name, func(node *v1.Node) { node.Spec.Unschedulable, node.Spec.Taints = false, nil })
	case inspect.ChangeRemoveTaint:
		c.changeNode(change.Name, func(node *v1.Node) {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == change.Key })
		})
	case inspect.ChangeSetLabel:
		c.changeNode(change.Name, func(node *v1.Node) { node.Labels[change.Key] = change.Value })
	case inspect.ChangeFree:
		for _, pod := range change.Pods {
			c.deletePod(strings.TrimPrefix(pod, c.namespace+"/"))
		}
	case inspect.ChangeEndPod:
		c.deletePod(change.Name)
	case inspect.ChangeBindClaim:
		c.volume("new", change.Name)
		c.bindClaim(change.Name, "new")
	default:
		c.t.Fatalf("the change %+v is not one that can be made here", change)
	}
}
