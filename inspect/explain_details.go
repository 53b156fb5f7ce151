// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	podresource "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodedeclaredfeatures"
	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/plugins/volumerestrictions"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// subject is the pod that is explained, and what details are looked up in.
type subject struct {
	pod   *v1.Pod
	nodes []fwk.NodeInfo
	// addedAffinity is what the profile requires of nodes in addition to the pod; nil if it requires nothing.
	addedAffinity *v1.NodeSelector
	// namespaceLabels returns the labels of a namespace, exclusive reports whether a claim is
	// for one pod only.
	namespaceLabels func(name string) labels.Set
	exclusive       func(namespace, claim string) bool
}

// newDescriber returns a describer with the details of the in-tree plugins. Other plugins, and those in-tree plugins whose
// reasons say it all, are quoted.
func newDescriber(configuration *profiles.Configuration, profile *runtime.Framework, pod *v1.Pod, nodes []fwk.NodeInfo) *describer {
	core := profile.SharedInformerFactory().Core().V1()
	namespaces, known := core.Namespaces().Lister(), map[string]labels.Set{}
	about := subject{
		pod:   pod,
		nodes: nodes,
		namespaceLabels: func(name string) labels.Set {
			found, looked := known[name]
			if looked {
				return found
			}
			if namespace, err := namespaces.Get(name); err == nil { // one that is not there has no labels
				found = namespace.Labels
			}
			known[name] = found
			return found
		},
		exclusive: func(namespace, name string) bool {
			claim, err := core.PersistentVolumeClaims().Lister().PersistentVolumeClaims(namespace).Get(name)
			return err == nil && slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod)
		},
	}
	if configured := configuration.Profile(pod.Spec.SchedulerName); configured != nil {
		args, given := configured.Args(nodeaffinity.Name).(*configv1.NodeAffinityArgs)
		if given && args.AddedAffinity != nil {
			about.addedAffinity = args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
	}
	return &describer{about: about, details: map[string]detailer{
		dynamicresources.Name:     deviceDetails(profile.SharedDRAManager()),
		interpodaffinity.Name:     podAffinityDetails,
		nodeaffinity.Name:         nodeAffinityDetails,
		nodedeclaredfeatures.Name: featureDetails,
		nodename.Name:             nodeNameDetails,
		nodeports.Name:            portDetails,
		noderesourcesfit.Name:     resourceDetails,
		nodeunschedulable.Name:    cordonDetails,
		podtopologyspread.Name:    spreadDetails,
		tainttoleration.Name:      taintDetails,
		volumerestrictions.Name:   claimDetails,
	}}
}

// resourceDetails has the amounts of everything that the plugin says is insufficient.
func resourceDetails(about *subject, node fwk.NodeInfo, reasons []string) []string {
	requested := framework.NewResource(podresource.PodRequests(about.pod, podresource.PodResourcesOptions{}))
	var details []string
	for _, reason := range reasons {
		if reason == noderesourcesfit.ReasonTooManyPods {
			details = append(details, fmt.Sprintf("pods: %d of %d places are taken", len(node.GetPods()), node.GetAllocatable().GetAllowedPodNumber()))
			continue
		}
		name, insufficient := strings.CutPrefix(reason, "Insufficient ")
		if !insufficient {
			continue
		}
		wanted := framework.AmountOf(requested, v1.ResourceName(name))
		offered, taken := framework.AmountOf(node.GetAllocatable(), v1.ResourceName(name)), framework.AmountOf(node.GetRequested(), v1.ResourceName(name))
		details = append(details, shortage(name, wanted, max(offered-taken, 0), offered))
	}
	return details
}

// shortage says how much of a resource is asked for and free, exactly if the rounded amounts would be the same.
func shortage(name string, wanted, free, offered int64) string {
	write := Amount
	if Amount(name, wanted) == Amount(name, free) {
		write = exactAmount
	}
	return fmt.Sprintf("%s: asks %s, free %s of %s", name, write(name, wanted), write(name, free), write(name, offered))
}

// Amount writes how much of a resource there is, given in its smallest unit, with two decimals at most.
func Amount(name string, value int64) string {
	switch {
	case name == string(v1.ResourceCPU):
		return decimals(float64(value) / 1000)
	case !inBytes(name):
		return strconv.FormatInt(value, 10)
	}
	units, scaled := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}, float64(value)
	for len(units) > 1 && scaled >= 1024 {
		units, scaled = units[1:], scaled/1024
	}
	return decimals(scaled) + units[0]
}

func decimals(value float64) string {
	return strconv.FormatFloat(math.Round(value*100)/100, 'f', -1, 64)
}

func exactAmount(name string, value int64) string {
	switch {
	case name == string(v1.ResourceCPU):
		return resource.NewMilliQuantity(value, resource.DecimalSI).String()
	case inBytes(name):
		return resource.NewQuantity(value, resource.BinarySI).String()
	default:
		return strconv.FormatInt(value, 10)
	}
}

func inBytes(name string) bool {
	return name == string(v1.ResourceMemory) || name == string(v1.ResourceEphemeralStorage) ||
		strings.HasPrefix(name, v1.ResourceHugePagesPrefix)
}

// portDetails names who has the ports that the pod wants.
func portDetails(about *subject, node fwk.NodeInfo, _ []string) []string {
	var details []string
	for _, wanted := range framework.HostPorts(about.pod) {
		for _, other := range node.GetPods() {
			used := fwk.HostPortInfo{}
			for _, port := range framework.HostPorts(other.GetPod()) {
				used.Add(port.HostIP, string(port.Protocol), port.HostPort)
			}
			if used.CheckConflict(wanted.HostIP, string(wanted.Protocol), wanted.HostPort) {
				details = append(details, fmt.Sprintf("port %s is in use by %s", portName(wanted), podName(other.GetPod())))
			}
		}
	}
	return details
}

func portName(port v1.ContainerPort) string {
	name := strconv.Itoa(int(port.HostPort))
	if port.HostIP != "" {
		name = net.JoinHostPort(port.HostIP, name)
	}
	protocol := port.Protocol
	if protocol == "" {
		protocol = v1.ProtocolTCP
	}
	return name + "/" + string(protocol)
}

// taintDetails has all taints that the pod does not tolerate.
func taintDetails(about *subject, node fwk.NodeInfo, _ []string) []string {
	var details []string
	for _, taint := range node.Node().Spec.Taints {
		keepsAway := taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
		if keepsAway && !corev1helpers.TolerationsTolerateTaint(klog.Logger{}, about.pod.Spec.Tolerations, &taint, false) {
			details = append(details, fmt.Sprintf("taint %s is not tolerated", taint.ToString()))
		}
	}
	return details
}

func cordonDetails(*subject, fwk.NodeInfo, []string) []string {
	return []string{"the node is cordoned (spec.unschedulable)"}
}

func nodeNameDetails(about *subject, _ fwk.NodeInfo, _ []string) []string {
	return []string{"the pod asks for the node " + about.pod.Spec.NodeName}
}

// featureDetails names the features that the node does not declare.
func featureDetails(about *subject, node fwk.NodeInfo, _ []string) []string {
	features := ndf.DefaultFramework
	needed, err := features.InferForPodScheduling(&ndf.PodInfo{Spec: &about.pod.Spec}, version.MajorMinor(1, 37))
	if err != nil || node == nil {
		return nil
	}
	match, err := features.MatchNode(needed, node.Node())
	if err != nil {
		return nil
	}
	var details []string
	for _, feature := range slices.Sorted(slices.Values(match.UnsatisfiedRequirements)) {
		details = append(details, "the node does not declare the feature "+feature)
	}
	return details
}

// claimDetails names who uses claims that are for one pod only.
func claimDetails(about *subject, _ fwk.NodeInfo, reasons []string) []string {
	if !slices.Contains(reasons, volumerestrictions.ReasonClaimInUse) {
		return nil
	}
	var details []string
	for _, volume := range about.pod.Spec.Volumes {
		claim := volume.PersistentVolumeClaim
		if claim == nil || !about.exclusive(about.pod.Namespace, claim.ClaimName) {
			continue
		}
		for _, node := range about.nodes {
			for _, other := range node.GetPods() {
				if other.GetPod().Namespace == about.pod.Namespace && uses(other.GetPod(), claim.ClaimName) {
					details = append(details, fmt.Sprintf("claim %s is in use by %s on %s",
						claim.ClaimName, podName(other.GetPod()), node.Node().Name))
				}
			}
		}
	}
	return details
}

func uses(pod *v1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume v1.Volume) bool {
		return volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim
	})
}
