// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventWords says in words what has to happen for one of some events, such as "a node is added or gets other labels", a text for
// each kind of object. The events are labels as in [PluginEvent].
func EventWords(labels ...string) []string {
	happenings := map[string][]string{}
	var subjects []string
	for _, label := range labels {
		resource, action := splitLabel(label)
		subject := subjectOf(resource)
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
		happenings[subject] = append(happenings[subject], happening(resource, action))
	}
	texts := make([]string, 0, len(subjects))
	for _, subject := range subjects {
		texts = append(texts, subject+" "+alternatives(happenings[subject]))
	}
	return texts
}

// splitLabel returns the resource and the action of an event's label.
func splitLabel(label string) (resource, action string) {
	best := -1
	for _, known := range framework.Actions() {
		if strings.HasSuffix(label, known.Name) && len(known.Name) > best {
			resource, action, best = strings.TrimSuffix(label, known.Name), known.Name, len(known.Name)
		}
	}
	if general := fwk.ActionType(fwk.Update).String(); strings.HasSuffix(label, general) && len(general) > best {
		return strings.TrimSuffix(label, general), general
	}
	if best < 0 {
		return label, ""
	}
	return resource, action
}

func subjectOf(resource string) string {
	switch fwk.EventResource(resource) {
	case fwk.AssignedPod:
		return "a pod on a node"
	case fwk.TargetPod:
		return "the pod itself"
	case fwk.UnscheduledPod:
		return "another waiting pod"
	case fwk.Node:
		return "a node"
	case framework.Namespace:
		return "a namespace"
	case fwk.WildCard:
		return "anything"
	}
	if at := strings.LastIndex(resource, "/"); at >= 0 {
		resource = resource[at+1:]
	}
	return "a " + resource
}

// changes is what a general update is called, which includes all others.
const changes = "changes"

func happening(resource, action string) string {
	switch action {
	case "Add":
		switch fwk.EventResource(resource) {
		case fwk.AssignedPod:
			return "starts"
		case fwk.Node:
			return "is added"
		}
		return "is created"
	case "Delete":
		switch fwk.EventResource(resource) {
		case fwk.AssignedPod:
			return "ends"
		case fwk.Node:
			return "is removed"
		}
		return "is deleted"
	}
	if words := map[string]string{
		"UpdateNodeAllocatable": "gets other resources", "UpdateNodeLabel": "gets other labels", "UpdateNodeTaint": "gets other taints or is uncordoned",
		"UpdateNodeCondition": "gets other conditions", "UpdateNodeAnnotation": "gets other annotations", "UpdateNodeDeclaredFeature": "declares other features",
		"UpdatePodLabel": "gets other labels", "UpdatePodScaleDown": "asks for less", "UpdatePodScaleUp": "asks for more",
		"UpdatePodToleration": "tolerates more", "UpdatePodSchedulingGatesEliminated": "loses its last scheduling gate",
		"UpdatePodGeneratedResourceClaim": "gets its resource claim",
	}[action]; words != "" {
		return words
	}
	return changes
}

// alternatives joins words with commas, and the last two with or. What includes the others stands for them.
func alternatives(words []string) string {
	if slices.Contains(words, changes) {
		words = slices.DeleteFunc(words, func(word string) bool {
			return !slices.Contains([]string{changes, "starts", "ends", "is added", "is removed", "is created", "is deleted"}, word)
		})
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
