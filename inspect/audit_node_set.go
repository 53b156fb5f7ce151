// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import "slices"

// pluginNumber stands for a plugin in arrays with an entry for each node.
type pluginNumber uint16

// noPlugin is the number of the empty name.
const noPlugin pluginNumber = 0

// rejects reports whether a verdict is the rejection by the plugin, or that of a feasible node if there is no plugin.
func (n pluginNumber) rejects(verdict filterVerdict) bool { return verdict.plugin == n }

// pluginNames are the names of plugins by number. The zero value is ready.
type pluginNames struct {
	names   []string
	numbers map[string]pluginNumber
}

// number returns the number of a name, which it makes if there is none.
func (p *pluginNames) number(name string) pluginNumber {
	if name == "" {
		return noPlugin
	}
	number, known := p.numbers[name]
	if !known {
		if p.numbers == nil {
			p.numbers = map[string]pluginNumber{}
		}
		p.names = append(p.names, name)
		number = pluginNumber(len(p.names))
		p.numbers[name] = number
	}
	return number
}

func (p *pluginNames) name(number pluginNumber) string {
	if number == noPlugin {
		return ""
	}
	return p.names[number-1]
}

// nodeSet is a set of nodes, by their positions in the list of nodes.
type nodeSet struct {
	members  []int32
	contains []bool
	sorted   bool
}

// newNodeSet returns a set of all of a number of nodes.
func newNodeSet(nodes int) nodeSet {
	s := nodeSet{contains: make([]bool, nodes)}
	s.fill()
	return s
}

func (s *nodeSet) add(position int) {
	if !s.contains[position] {
		s.members, s.contains[position], s.sorted = append(s.members, int32(position)), true, false
	}
}

// fill adds all nodes.
func (s *nodeSet) fill() {
	s.members, s.sorted = s.members[:0], true
	for position := range s.contains {
		s.members, s.contains[position] = append(s.members, int32(position)), true
	}
}

// visit calls visit for the nodes in the set, in their order, until it does not want to go on. A node that is not to be kept
// leaves the set.
func (s *nodeSet) visit(visit func(position int) (keep, goOn bool)) {
	if !s.sorted {
		slices.Sort(s.members)
		s.sorted = true
	}
	kept := s.members[:0]
	for i, position := range s.members {
		keep, goOn := visit(int(position))
		if keep {
			kept = append(kept, position)
		}
		s.contains[position] = keep
		if !goOn {
			kept = append(kept, s.members[i+1:]...)
			break
		}
	}
	s.members = kept
}
