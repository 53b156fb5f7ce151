// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package lru_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/lru"
)

// together returns caches that share a budget, with their locks, which the caller does not hold.
func together(budget *lru.Budget, count int) ([]*lru.Cache[sized], []*sync.Mutex) {
	caches, locks := make([]*lru.Cache[sized], count), make([]*sync.Mutex, count)
	for i := range caches {
		caches[i], locks[i] = &lru.Cache[sized]{}, &sync.Mutex{}
		caches[i].Join(budget, locks[i])
	}
	return caches, locks
}

func use(c *lru.Cache[sized], lock *sync.Mutex, key string) {
	lock.Lock()
	defer lock.Unlock()
	if c.Get([]byte(key)) == nil {
		c.Put([]byte(key), &table{bytes: 1000})
	}
	c.EndCycle()
}

func TestIdleCachesLeaveTheirRoom(t *testing.T) {
	budget := lru.NewBudget(10 * (1000 + overhead(t)))
	caches, locks := together(budget, 2)
	for i := range 10 {
		use(caches[0], locks[0], fmt.Sprint(i))
	}
	if caches[0].Len() != 10 || budget.Used() != caches[0].Used() {
		t.Fatalf("a cache alone has %d entries and %d of %d bytes, want all of 10", caches[0].Len(), caches[0].Used(), budget.Used())
	}
	use(caches[0], locks[0], "0")
	for i := range 9 {
		use(caches[1], locks[1], fmt.Sprint(i))
	}
	if caches[0].Len() != 1 || caches[0].Get([]byte("0")) == nil || caches[1].Len() != 9 {
		t.Errorf("%d and %d entries, want the last used of the idle cache and 9", caches[0].Len(), caches[1].Len())
	}
	caches[1].Leave()
	if got := budget.Used(); got != caches[0].Used() || caches[1].Len() != 0 {
		t.Errorf("%d bytes are in use after a cache left, and it has %d entries", got, caches[1].Len())
	}
}

func TestCachesInUseAreEvictedFromLater(t *testing.T) {
	budget := lru.NewBudget(1000 + overhead(t))
	caches, locks := together(budget, 2)
	use(caches[0], locks[0], "a")
	locks[0].Lock()
	use(caches[1], locks[1], "b")
	if caches[0].Len() != 1 || caches[1].Len() != 1 {
		t.Fatalf("%d and %d entries while the first cache is being used, want both", caches[0].Len(), caches[1].Len())
	}
	caches[0].EndCycle()
	locks[0].Unlock()
	if caches[0].Len() != 0 || caches[1].Len() != 1 {
		t.Errorf("%d and %d entries after that, want the newer one", caches[0].Len(), caches[1].Len())
	}
}

// TestRoomOfIdleCachesIsAdmitted has a key come again for which there is only room that another cache has.
func TestRoomOfIdleCachesIsAdmitted(t *testing.T) {
	size := 1000 + overhead(t)
	caches, locks := together(lru.NewBudget(8*size), 2)
	for i := range 6 {
		use(caches[0], locks[0], fmt.Sprint(i))
	}
	for range 20 {
		use(caches[1], locks[1], "a")
	}
	key := []byte("k")
	if caches[1].Seen(key, 1500) {
		t.Error("a new key counts as seen")
	}
	caches[1].EndCycle()
	locks[0].Lock()
	if caches[1].Seen(key, 1500) {
		t.Error("a value is let in for which another cache would have to be changed that is in use")
	}
	caches[1].EndCycle()
	locks[0].Unlock()
	if !caches[1].Seen(key, 1500) {
		t.Error("a key that came again is not let in, although most is in an idle cache")
	}
}

// TestBudgetIsKept uses caches at random, one after the other.
func TestBudgetIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const limit = 50_000
	budget := lru.NewBudget(limit)
	caches, locks := together(budget, 3)
	for range 5_000 {
		i := random.IntN(3)
		use(caches[i], locks[i], fmt.Sprint(random.IntN(60)))
		sum := 0
		for _, c := range caches {
			sum += c.Used()
		}
		if sum != budget.Used() || sum > limit {
			t.Fatalf("the caches have %d bytes, the budget says %d, want the same and at most %d", sum, budget.Used(), limit)
		}
	}
	if budget.Used() < limit/2 {
		t.Errorf("only %d bytes are used of %d", budget.Used(), limit)
	}
}

// snapshot keeps data for its users.
type snapshot map[any]any

func (s snapshot) Data(key any, create func() any) any {
	if _, ok := s[key]; !ok {
		s[key] = create()
	}
	return s[key]
}

func TestBudgetOfASnapshot(t *testing.T) {
	one, other := snapshot{}, snapshot{}
	if lru.BudgetOf(one, 1) != lru.BudgetOf(one, 2) || lru.BudgetOf(one, 1) == lru.BudgetOf(other, 1) {
		t.Error("caches about one snapshot have different budgets, or those about different ones the same")
	}
	if first, second := lru.BudgetOf(nil, 1), lru.BudgetOf(nil, 1); first == second {
		t.Error("what keeps no data has one budget")
	}
}
