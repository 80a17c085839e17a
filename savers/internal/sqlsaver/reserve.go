package sqlsaver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// reserve moves the wakes of up to want due threads, and of due threads with a live lease. It
// returns how many it moved, and adds the former to the result. seen are the threads of a look.
func (r *readyCall) reserve(ctx context.Context, graph string, low int64, seen []readyRow, want int) (moved int, err error) {
	if r.s.has(stReserveDue) {
		moved, err = r.reserveSeen(ctx, graph, seen, want)
	}
	if moved == 0 && err == nil { // other workers have moved or locked all of them: look further
		moved, err = r.reserveLocked(ctx, graph, low, seen, want)
	}
	return moved, err
}

// reserveSeen is reserve by one statement, for those threads of a look that are still as it saw
// them.
func (r *readyCall) reserveSeen(ctx context.Context, graph string, seen []readyRow, want int) (moved int, err error) {
	free, leased := []int64{}, []int64{}
	for _, row := range r.choose(graph, seen, want) {
		free = append(free, row.no)
	}
	for _, row := range seen {
		if r.isDue(row) && row.until > row.now {
			leased = append(leased, row.no)
		}
	}
	var rows []readyRow
	err = r.s.try(ctx, RolledBack, func() error {
		rows, err = r.rows(ctx, r.s.db, stReserveDue, graph, []byte(graph), free, leased, seen[0].now, r.q.Reserve.Microseconds())
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(rows, byWake)
	chosen := r.choose(graph, rows, want)
	for _, row := range rows {
		r.taken[row.no] = true
	}
	r.add(chosen)
	r.s.turns.Given(graph, len(chosen))
	return len(rows), nil
}

// reserveLocked is reserve in a transaction, which first locks threads, maybe others than those
// of the look.
func (r *readyCall) reserveLocked(ctx context.Context, graph string, low int64, seen []readyRow, want int) (moved int, err error) {
	var most [checkpoint.Priorities + 1]int // how many threads of each priority to lock
	for _, row := range r.choose(graph, seen, want) {
		most[row.Priority]++
	}
	for _, row := range seen {
		if r.isDue(row) && row.until > row.now {
			most[row.Priority]++
		}
	}
	var free []readyRow
	var numbers []int64
	err = r.s.write(ctx, RolledBack, func(tx Tx) error {
		free, numbers = nil, nil
		rows, err := r.lock(ctx, tx, graph, low, seen[0].now, most)
		if err != nil || len(rows) == 0 {
			return err
		}
		free = r.choose(graph, rows, want)
		for _, row := range rows {
			if row.until > row.now {
				numbers = append(numbers, row.no)
			}
		}
		for _, row := range free {
			numbers = append(numbers, row.no)
		}
		list, err := json.Marshal(numbers)
		if err != nil {
			return err
		}
		return r.s.later(ctx, tx, stReserve, string(list), rows[0].now+r.q.Reserve.Microseconds())
	})
	if err != nil {
		return 0, err
	}
	for _, no := range numbers {
		r.taken[no] = true
	}
	r.add(free)
	r.s.turns.Given(graph, len(free))
	return len(numbers), nil
}

// lock locks due threads of a graph: of each priority at least as many as most says, if there are.
func (r *readyCall) lock(ctx context.Context, tx Tx, graph string, low, due int64, most [checkpoint.Priorities + 1]int) (all []readyRow, err error) {
	if r.s.has(stReadByIndex) {
		if err := r.s.later(ctx, tx, stReadByIndex); err != nil {
			return nil, err
		}
	}
	for priority, n := range most {
		if n == 0 {
			continue
		}
		limit := int64(n + len(r.q.Except) + len(r.taken))
		rows, err := r.rows(ctx, tx, stLockReady, graph, []byte(graph), int64(priority), low, due, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return slices.DeleteFunc(all, func(row readyRow) bool { return !r.isDue(row) }), nil
}
