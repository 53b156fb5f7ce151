// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// zoneLabels returns the labels that say where a volume or a node is.
func zoneLabels() [4]string {
	return [...]string{
		v1.LabelFailureDomainBetaZone,
		v1.LabelFailureDomainBetaRegion,
		v1.LabelTopologyZone,
		v1.LabelTopologyRegion,
	}
}

// place is where one label of a volume says that it is: in any of the values.
type place struct {
	Volume string
	Label  string
	Values sets.Set[string]
}

// placesOf returns what the labels of a volume say. A value that can't be parsed says nothing.
func placesOf(volume *v1.PersistentVolume) []place {
	var places []place
	for _, label := range zoneLabels() {
		value, found := volume.Labels[label]
		if !found {
			continue
		}
		if values, ok := splitValues(value); ok {
			places = append(places, place{Volume: volume.Name, Label: label, Values: values})
		}
	}
	return places
}

// splitValues parses the label value of a volume that is in several zones, such as a__b. An empty zone spoils the value.
func splitValues(value string) (sets.Set[string], bool) {
	values := sets.New[string]()
	for part := range strings.SplitSeq(value, "__") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, false
		}
		values.Insert(part)
	}
	return values, true
}

// includes reports whether a node with the given labels is in the place. A label of the volume that is deprecated also
// matches the label that replaced it.
func (p *place) includes(nodeLabels map[string]string) bool {
	value, found := nodeLabels[p.Label]
	if !found {
		value, found = nodeLabels[replacement(p.Label)]
	}
	return found && p.Values.Has(value)
}

// replacement returns the label that replaced a deprecated one, and others as they are.
func replacement(label string) string {
	switch label {
	case v1.LabelFailureDomainBetaZone:
		return v1.LabelTopologyZone
	case v1.LabelFailureDomainBetaRegion:
		return v1.LabelTopologyRegion
	}
	return label
}

// isPlaced reports whether the labels of a node say where it is.
func isPlaced(nodeLabels map[string]string) bool {
	for _, label := range zoneLabels() {
		if _, found := nodeLabels[label]; found {
			return true
		}
	}
	return false
}
