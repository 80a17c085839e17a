package sqlsaver

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// end ends the run of a thread, which knows of messages up to seen. The caller has set the status.
func (t *thread) end(wake time.Time, seen uint64) {
	t.until, t.updated, t.wake = 0, t.now, wakeColumn(wake)
	if t.wake != 0 {
		t.wake = max(t.wake, t.now)
	}
	if uint64(t.posted) > seen {
		t.wake = t.now
	}
	if t.status != checkpoint.Failed {
		t.attempts = 0
	}
}

// wakeColumn returns a time as the column wake has it.
func wakeColumn(wake time.Time) int64 {
	if wake.IsZero() {
		return 0
	}
	return max(ledger.Wake(wake).UnixMicro(), 1)
}

// wakeAt decodes the column wake.
func wakeAt(column int64) time.Time { return createdAt(column) }

// lowMark is the least wake that threads of a graph can have. Each reservation leaves a dead entry
// at the left edge of the index, which servers clean up late. Reading begins after most of them.
// It is one mark for all priorities, because a Post can change that of a thread that is due.
type lowMark struct {
	wake  int64
	polls int
}

// A call reads from the low mark on, but every sixteenth from the start. A thread whose wake was
// set lately may become visible late: the mark is so much lower than the wakes that were seen.
const (
	fullPolls = 16
	lowBelow  = int64(checkpoint.DefaultLease / time.Microsecond)
)

// from returns where the next call begins to read a graph.
func (s *Saver) from(graph string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark := s.low[graph]
	mark.polls++
	if mark.polls%fullPolls == 0 {
		mark.wake = 0
	}
	s.low[graph] = mark
	return max(mark.wake, 1)
}

// seen notes the least wake of a graph that a call has seen, or the time of the call.
func (s *Saver) seen(graph string, wake int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark := s.low[graph]
	mark.wake = wake - lowBelow
	s.low[graph] = mark
}

// Ready returns threads that are due, as [checkpoint.Saver] says. It reads them by index, and
// locks them only if it moves their wake.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if err := q.Check(); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	if err := s.begin(ctx); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	defer s.end()
	r := readyCall{s: s, q: &q, taken: make(map[int64]bool)}
	graphs := q.Graphs
	if len(graphs) == 0 {
		graphs = []string{""} // for the time
	}
	for _, graph := range graphs {
		if err := r.graph(ctx, graph); err != nil {
			return checkpoint.ReadyThreads{}, s.wrap(ctx, "ready", err)
		}
	}
	if len(q.Graphs) == 0 {
		r.result = checkpoint.ReadyThreads{Now: r.result.Now}
	}
	return r.result, nil
}

// readyCall is one call of Ready.
type readyCall struct {
	s      *Saver
	q      *checkpoint.ReadyQuery
	result checkpoint.ReadyThreads
	taken  map[int64]bool // the threads whose wake the call has moved
}

// readyRow is a row of graph_thread with a wake.
type readyRow struct {
	checkpoint.ReadyThread
	no, wake, until, now int64
}

// graph adds the threads of one graph. Each round moves the wakes of some due threads. The last
// round reads the next wake, unless the rows of the one before it show that too.
func (r *readyCall) graph(ctx context.Context, graph string) error {
	low, size := r.s.from(graph), 0
	for {
		want := r.q.Limit - len(r.result.Threads)
		if size = max(2*size, want+len(r.q.Except)+1); want == 0 {
			size = len(r.q.Except) + 1
		}
		rows, err := r.look(ctx, graph, low, size)
		if err != nil {
			return err
		}
		if r.q.Reserve == 0 {
			if full(rows, size) && len(r.choose(graph, rows, want)) < want {
				continue // most of them have live leases: look at more
			}
			r.add(r.choose(graph, rows, want))
		} else if want > 0 && slices.ContainsFunc(rows, r.isDue) {
			moved, err := r.reserve(ctx, graph, low, rows, want)
			if err != nil {
				return err
			}
			more := len(r.result.Threads) < r.q.Limit && slices.ContainsFunc(rows, r.isDue)
			if moved > 0 && (more || !r.covers(rows, size)) {
				continue
			}
		}
		r.next(graph, rows)
		return nil
	}
}

// full reports whether there may be more than size threads of a priority.
func full(rows []readyRow, size int) bool {
	var counts [checkpoint.Priorities + 1]int
	for i := range rows {
		counts[rows[i].Priority]++
	}
	return slices.Max(counts[:]) == size
}

// isDue reports whether the call can return or move a thread.
func (r *readyCall) isDue(row readyRow) bool {
	return row.no != 0 && row.wake <= row.now && !r.taken[row.no] && !slices.Contains(r.q.Except, row.ID)
}

// choose returns up to want of the due threads without a live lease, in the order of the result.
func (r *readyCall) choose(graph string, rows []readyRow, want int) []readyRow {
	var due ledger.ByPriority[readyRow]
	for i := range rows {
		if r.isDue(rows[i]) && rows[i].until <= rows[i].now {
			due.Add(rows[i].Priority, rows[i])
		}
	}
	return due.Take(r.s.turns.Next(graph), want, func(a, b *readyRow) bool { return a.wake < b.wake })
}

// add adds threads to the result.
func (r *readyCall) add(rows []readyRow) {
	for i := range rows {
		r.result.Threads = append(r.result.Threads, rows[i].ReadyThread)
	}
}

// next notes the earliest wake of a graph, and the time of the call.
func (r *readyCall) next(graph string, rows []readyRow) {
	now := rows[0].now
	r.result.Now = wakeAt(now)
	least := now
	if rows[0].no != 0 {
		least = min(least, rows[0].wake)
	}
	r.s.seen(graph, least)
	for i := range rows {
		row := &rows[i]
		if row.no == 0 || slices.Contains(r.q.Except, row.ID) {
			continue
		}
		wake := row.Wake
		if r.taken[row.no] && row.wake <= now { // the call has moved the wake since it read the row
			if wake = wakeAt(row.until); row.until <= now {
				wake = wakeAt(now + r.q.Reserve.Microseconds())
			}
		}
		if r.result.Next.IsZero() || wake.Before(r.result.Next) {
			r.result.Next = wake
		}
	}
}

// covers reports whether rows still show the least wake of each priority after the call has moved
// some of them. There must be at least one other row of a priority, unless there are no more.
func (r *readyCall) covers(rows []readyRow, size int) bool {
	var all, left [checkpoint.Priorities + 1]int
	for i := range rows {
		row := &rows[i]
		all[row.Priority]++
		if !r.taken[row.no] && !slices.Contains(r.q.Except, row.ID) {
			left[row.Priority]++
		}
	}
	for priority, n := range all {
		if n >= size && left[priority] == 0 {
			return false
		}
	}
	return true
}

// look reads threads of a graph by their wake. The first row has the time. Its number is 0 if
// there is no thread.
func (r *readyCall) look(ctx context.Context, graph string, low int64, size int) (rows []readyRow, err error) {
	err = r.s.try(ctx, Lost, func() error {
		rows, err = r.rows(ctx, r.s.db, stReady, graph, []byte(graph), low, int64(size))
		return err
	})
	slices.SortStableFunc(rows, byWake)
	if err == nil && len(rows) == 0 {
		err = errors.New("the server did not return its time")
	}
	return rows, err
}

func byWake(a, b readyRow) int { return cmp.Compare(a.wake, b.wake) }

func (r *readyCall) rows(ctx context.Context, db Runner, st statement, graph string, args ...any) (all []readyRow, err error) {
	rows, err := r.s.query(ctx, db, st, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		row, err := scanReady(rows, graph)
		all = append(all, row)
		return err
	})
	return all, err
}

func scanReady(rows Rows, graph string) (row readyRow, err error) {
	var id, fence, labels []byte
	var no, status, priority, wake, until, attempts, posted sql.NullInt64
	if err := rows.Scan(&row.now, &no, &id, &status, &priority, &wake, &until, &fence, &attempts, &posted, &labels); err != nil || !no.Valid {
		return row, err
	}
	row.no, row.wake, row.until = no.Int64, wake.Int64, until.Int64
	row.ReadyThread = checkpoint.ReadyThread{
		ID: string(id), Graph: graph, Priority: checkpoint.Priority(priority.Int64), Status: statusOf(status.Int64), Wake: wakeAt(wake.Int64),
		Attempts: int(attempts.Int64), Posted: uint64(posted.Int64), Birth: birth(row.no),
	}
	if !setID(&row.Fence, fence) {
		return row, fmt.Errorf("thread %.64q: the fence is not 16 bytes long: %w", row.ID, checkpoint.ErrDamaged)
	}
	if row.Labels, err = labelsOf(labels); err != nil {
		err = fmt.Errorf("thread %.64q: %w", row.ID, err)
	}
	return row, err
}

// statusOf decodes the column status of a thread that is due. One without a version is ready.
func statusOf(column int64) checkpoint.Status {
	if column == 0 {
		return checkpoint.Ready
	}
	return checkpoint.Status(column)
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	return s.wrap(ctx, "rewake", s.write(ctx, RolledBack, func(tx Tx) error {
		t, err := s.thread(ctx, tx, stLockThread, r.Thread)
		switch {
		case err != nil:
			return err
		case t == nil || t.open == 0 && t.posted == 0:
			return ledger.Missing(r.Thread, "", r.Fence, "fence", t != nil)
		case t.fence != r.Fence:
			return t.conflict("fence", "", r.Fence, t.fence)
		case uint64(t.posted) != r.Posted:
			return t.conflict("mail", "", r.Fence, t.fence)
		case !ledger.IsBirth(r.Birth, birth(t.no)):
			return t.conflict("birth", "", r.Birth, birth(t.no))
		}
		if err := t.busy(); err != nil {
			return err
		}
		return s.later(ctx, tx, stRewake, wakeColumn(r.Wake), t.no)
	}))
}
