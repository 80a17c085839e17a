package redis

import (
	"context"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// The index of wakes is repaired by the first Ready that finds it lost, and once in repairEvery.
// Nobody else repairs it for the time of repairClaim, or until that Ready has ended.
const (
	repairEvery = time.Hour
	repairClaim = time.Minute
)

// farWake is what ready.lua adds to the time of a repair.
const farWake = 4e15

// repair adds to the index what is missing, and notes that the wakes of graphs are complete. It
// reads the threads that are not done. If the set of these is lost, it reads all threads of the
// index. If the stamps are lost too, the index was removed: it looks for threads on every server.
//
// If repair fails, the next Ready of this saver continues.
func (s *Saver) repair(ctx context.Context, graphs []string, now time.Time) error {
	keys := s.indexKeys()
	var there [3]int64
	err := s.do(ctx, "repair", func(ctx context.Context) (err error) {
		for i, key := range keys[:len(there)] {
			if there[i], err = s.client.Exists(ctx, key).Result(); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
	case there[keyStamps] == 0:
		err = s.repairFromKeys(ctx)
	case there[keyLive] > 0:
		err = s.repairFrom(ctx, keys[keyLive])
	case there[keyAll] > 0:
		err = s.repairFrom(ctx, keys[keyAll])
	}
	s.mu.Lock()
	for _, graph := range graphs {
		s.unhealed[graph] = err != nil
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.do(ctx, "repair", func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		pipe.HSet(ctx, keys[keyStamps], "", "")
		for _, graph := range graphs {
			for _, key := range s.allWakes(graph) {
				pipe.ZAdd(ctx, key, goredis.Z{Score: farWake + float64(now.UnixMicro())})
			}
		}
		_, err := pipe.Exec(ctx)
		return err
	})
}

// unrepaired reports whether a repair of the wakes of a graph has failed here.
func (s *Saver) unrepaired(graph string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unhealed[graph]
}

// repairFrom repairs the index from one of its sets.
func (s *Saver) repairFrom(ctx context.Context, set string) error {
	s.mu.Lock()
	from := s.repairedTo
	s.mu.Unlock()
	if from == "" {
		from = "-"
	}
	for from != "" {
		page, err := s.indexPage(ctx, set, from, "+", fullPage)
		if err != nil {
			return err
		}
		if err := s.repairPage(ctx, page); err != nil {
			return err
		}
		from = ""
		if len(page) == fullPage {
			from = "(" + page[fullPage-1].ID
		}
		s.mu.Lock()
		s.repairedTo = from
		s.mu.Unlock()
	}
	return nil
}

// repairPage adds those of some threads to the index that are there.
func (s *Saver) repairPage(ctx context.Context, all []candidate) error {
	if err := s.describeAll(ctx, all); err != nil {
		return err
	}
	gone := func(c candidate) bool { return c.damage != nil || !c.listed() && !c.unfinished() }
	page := slices.DeleteFunc(slices.Clone(all), gone) // the caller continues after the last of all
	if len(page) == 0 {
		return nil
	}
	return s.do(ctx, "repair", func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		commands := make([]*goredis.Cmd, len(page))
		call := func(i int) ([]string, []any) {
			c := &page[i]
			unfinished := ""
			if c.unfinished() {
				unfinished = "1"
			}
			keys := s.indexKeys(append(s.setsOf(c.Graph, c.Labels), s.wakes(queue(c.Priority, c.Graph)))...)
			return keys, []any{c.ID, unfinished, c.stamp[:], wakeArg(c.Wake), wakeArg(c.Lease), repairEvery.Microseconds()}
		}
		for i := range page {
			keys, args := call(i)
			commands[i] = pipe.EvalSha(ctx, s.script.repair.Hash(), keys, args...)
		}
		if _, err := pipe.Exec(ctx); err == nil || !eachOwn(commands) {
			return err
		}
		for i := range page { // the server does not have the script
			keys, args := call(i)
			if _, err := s.run(ctx, s.script.repair, keys, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// repairFromKeys repairs the index from the keys of threads on all servers.
func (s *Saver) repairFromKeys(ctx context.Context) error {
	return s.scan(ctx, "repair", func(ctx context.Context, ids []string) error {
		page := make([]candidate, len(ids))
		for i, id := range ids {
			page[i].ID = id
		}
		return s.repairPage(ctx, page)
	})
}
