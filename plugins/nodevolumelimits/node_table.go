// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/csi"
)

// nodeTable has, for every node of a snapshot, how many disks its drivers attach. Only what changed is counted again. It is
// used by one search at a time, in which several goroutines may read it.
type nodeTable struct {
	*plugin
	manager *csi.Manager

	nodes      framework.IndexedSnapshot
	generation int64
	position   uint64 // in the changes of the manager
	classes    uint64 // as the manager counts them

	records []nodeRecord // by node index
	// claims and volumes have the indexes of the nodes whose records go by an object; users, how many nodes have pods that use a disk.
	claims, volumes map[string][]int32
	users           map[disk]int

	taken     sets.Set[disk] // working space
	consulted consulted
}

// nodeRecord is what is known of a node.
type nodeRecord struct {
	csiNode *storagev1.CSINode
	limits  []driverLimit
	use     *nodeUse // nil without limits, and if nothing takes a place
}

// nodeUse is what the places of a node are taken by.
type nodeUse struct {
	// failure is why the disks of the pods can't be told; nil if they can.
	failure *fwk.Status
	// disks are those that pods use, distinct.
	disks []disk
	consulted
}

// consulted are the names of objects that were looked up. A nil pointer takes notice of nothing.
type consulted struct{ claims, volumes []string }

func (c *consulted) addClaim(namespace, name string) {
	if c != nil {
		c.claims = append(c.claims, namespace+"/"+name)
	}
}

func (c *consulted) addVolume(name string) {
	if c != nil {
		c.volumes = append(c.volumes, name)
	}
}

// isOf reports whether the table has been brought up to date with a snapshot.
func (t *nodeTable) isOf(nodes framework.IndexedSnapshot) bool {
	return t != nil && t.nodes == nodes && t.generation == nodes.Generation()
}

// update brings the table up to date, and appends the indexes of the nodes for which that makes a difference though the snapshot
// does not list them as changed.
func (t *nodeTable) update(nodes framework.IndexedSnapshot, indexes []int) []int {
	classes := t.manager.Classes()
	changes, position, ok := t.manager.Since(t.position)
	if !ok || t.nodes != nodes || t.classes != classes {
		t.nodes, t.generation, t.classes = nodes, nodes.Generation(), classes
		t.position = position
		return t.rebuild(indexes)
	}
	t.position = position
	t.grow()
	for nodeIndex := range nodes.ChangedSince(t.generation) {
		t.count(nodeIndex)
	}
	t.generation = nodes.Generation()
	from := len(indexes)
	for _, change := range changes {
		indexes = t.appendAffected(indexes, change)
	}
	slices.Sort(indexes[from:])
	affected := slices.Compact(indexes[from:])
	for _, nodeIndex := range affected {
		t.count(nodeIndex)
	}
	return indexes[:from+len(affected)]
}

// appendAffected appends the indexes of the nodes that a change has to do with.
func (t *nodeTable) appendAffected(indexes []int, change csi.Change) []int {
	switch change.Kind {
	case csi.NodeChange:
		if nodeIndex, ok := t.nodes.NodeIndex(change.Name); ok {
			indexes = append(indexes, nodeIndex)
		}
	case csi.ClaimChange:
		for _, nodeIndex := range t.claims[change.Name] {
			indexes = append(indexes, int(nodeIndex))
		}
	case csi.VolumeChange:
		for _, nodeIndex := range t.volumes[change.Name] {
			indexes = append(indexes, int(nodeIndex))
		}
	}
	return indexes
}

// rebuild counts everything again, and appends the indexes of all nodes.
func (t *nodeTable) rebuild(indexes []int) []int {
	t.records, t.users = nil, map[disk]int{}
	t.claims, t.volumes = map[string][]int32{}, map[string][]int32{}
	t.grow()
	for nodeIndex := range t.records {
		t.count(nodeIndex)
		indexes = append(indexes, nodeIndex)
	}
	return indexes
}

func (t *nodeTable) grow() {
	if missing := t.nodes.IndexCount() - len(t.records); missing > 0 {
		t.records = append(t.records, make([]nodeRecord, missing)...)
	}
}

// count makes the record of a node again.
func (t *nodeTable) count(nodeIndex int) {
	record := &t.records[nodeIndex]
	t.forget(nodeIndex, record.use)
	*record = nodeRecord{}
	node := t.nodes.NodeAt(nodeIndex)
	if node == nil {
		return
	}
	record.csiNode = t.csiNodeOf(node.Node().Name)
	if record.limits = limitsOf(record.csiNode); len(record.limits) == 0 {
		return // whatever else there is does not matter
	}
	record.use = t.useOf(node, record.limits)
	t.enter(nodeIndex, record.use)
}

// useOf finds out what takes the places of a node, and counts it.
func (t *nodeTable) useOf(node fwk.NodeInfo, limits []driverLimit) *nodeUse {
	if t.taken == nil {
		t.taken = sets.New[disk]()
	}
	clear(t.taken)
	t.consulted = consulted{claims: t.consulted.claims[:0], volumes: t.consulted.volumes[:0]}
	use := &nodeUse{}
	c := &counter{plugin: t.plugin, logger: klog.Logger{}, hasCSINode: true, consulted: &t.consulted}
	for _, pod := range framework.View(node).Pods() {
		if len(framework.ViewPod(pod).Volumes()) == 0 {
			continue
		}
		if err := c.add(pod.GetPod(), true, t.taken); err != nil {
			use.failure = fwk.AsStatus(err)
			break
		}
	}
	for d := range t.taken {
		use.disks = append(use.disks, d)
	}
	if err := c.attached(node.Node().Name, t.taken); err != nil && use.failure == nil {
		use.failure = fwk.AsStatus(err)
	}
	if use.failure == nil && len(t.taken) == 0 && len(t.consulted.claims)+len(t.consulted.volumes) == 0 {
		return nil
	}
	countTaken(limits, t.taken)
	slices.Sort(t.consulted.claims)
	slices.Sort(t.consulted.volumes)
	use.consulted = consulted{
		claims:  slices.Clone(slices.Compact(t.consulted.claims)),
		volumes: slices.Clone(slices.Compact(t.consulted.volumes)),
	}
	return use
}

// enter enters a node under everything that its record goes by.
func (t *nodeTable) enter(nodeIndex int, use *nodeUse) {
	if use == nil {
		return
	}
	for _, d := range use.disks {
		t.users[d]++
	}
	for _, name := range use.claims {
		t.claims[name] = append(t.claims[name], int32(nodeIndex))
	}
	for _, name := range use.volumes {
		t.volumes[name] = append(t.volumes[name], int32(nodeIndex))
	}
}

// forget takes back what enter did.
func (t *nodeTable) forget(nodeIndex int, use *nodeUse) {
	if use == nil {
		return
	}
	for _, d := range use.disks {
		if t.users[d]--; t.users[d] == 0 {
			delete(t.users, d)
		}
	}
	for _, name := range use.claims {
		remove(t.claims, name, int32(nodeIndex))
	}
	for _, name := range use.volumes {
		remove(t.volumes, name, int32(nodeIndex))
	}
}

// remove takes a node from those listed under a name.
func remove(byName map[string][]int32, name string, nodeIndex int32) {
	listed := byName[name]
	if len(listed) == 1 {
		delete(byName, name)
		return
	}
	at := slices.Index(listed, nodeIndex)
	listed[at] = listed[len(listed)-1]
	byName[name] = listed[:len(listed)-1]
}

// verdict is what Filter says of the node with an index. Shared reports whether pods on any node have one of the disks.
func (t *nodeTable) verdict(nodeIndex int, ofPod *podRequest, shared bool, tooMany *fwk.Status) *fwk.Status {
	record := &t.records[nodeIndex]
	r := ofPod.on(record.csiNode)
	switch {
	case r.failure != nil:
		return r.failure
	case len(r.disks) == 0:
		return nil
	}
	if status := r.checkInstalled(record.csiNode); status != nil {
		return status
	}
	if record.use != nil && record.use.failure != nil {
		return record.use.failure
	}
	for i := range r.drivers {
		limit := record.limitOf(r.drivers[i].name)
		if limit == nil {
			continue
		}
		wanted := r.drivers[i].disks
		if shared && record.use != nil {
			wanted = r.wanted(limit.driver, func(d disk) bool { return slices.Contains(record.use.disks, d) })
		}
		if wanted > 0 && int(limit.taken)+wanted > int(limit.limit) {
			return tooMany
		}
	}
	return nil
}

// limitOf returns the limit of a driver; nil if it has none.
func (r *nodeRecord) limitOf(driver string) *driverLimit {
	for i := range r.limits {
		if r.limits[i].driver == driver {
			return &r.limits[i]
		}
	}
	return nil
}

// isShared reports whether pods on any node have a disk.
func (t *nodeTable) isShared(d disk) bool { return t.users[d] > 0 }
