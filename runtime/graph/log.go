package graph

import (
	"context"
	"log/slog"
	"strings"
)

// Log writes the events of the graph's runs to logger. Each has the attributes graph, thread, step
// and node. The other attributes are path (the subgraph calls), index, attempt, summary, outcome,
// took, delay, status, checkpoint, next and error. An attribute without a value is left out.
//
//	DEBUG  a task starts; a task ends in another way than by a failure; a checkpoint; a cached result
//	INFO   a run starts; a run ends in another way than by a failure; a retry; a Fallback
//	WARN   an attempt fails; a node is stuck; a cache fails; old checkpoints cannot be removed
//	ERROR  a run fails
//
// The context of the run or node reaches the handler of logger, so a handler can add trace ids.
// Log is an Observer: see there for panics and concurrency. A nil logger is a fault of Compile.
func Log(logger *slog.Logger) Option {
	return compileOption(func(o *options) {
		if logger == nil {
			o.observers = append(o.observers, (*logged)(nil)) // Compile reports it
			return
		}
		o.observers = append(o.observers, &logged{logger})
	})
}

// logged is the Observer of Log.
type logged struct{ *slog.Logger }

// Observe implements Observer.
func (l *logged) Observe(ctx context.Context, e RunEvent) {
	level := levelOf(&e)
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	add := func(given bool, a slog.Attr) {
		if given {
			attrs = append(attrs, a)
		}
	}
	add(true, slog.String("graph", e.Graph))
	add(e.Thread != "", slog.String("thread", e.Thread))
	add(true, slog.Int("step", e.Step))
	add(len(e.Path) > 0, slog.String("path", pathText(e.Path)))
	add(e.Node != "", slog.String("node", string(e.Node)))
	add(e.Index > 0, slog.Int("index", e.Index))
	add(e.Attempt > 0, slog.Int("attempt", e.Attempt))
	add(e.Summary != "", slog.String("summary", e.Summary))
	add(e.Outcome != 0, slog.String("outcome", e.Outcome.String()))
	add(e.Kind == EventRunEnded, slog.String("status", e.Status.String()))
	add(e.Took > 0, slog.Duration("took", e.Took))
	add(e.Kind == EventTaskRetry, slog.Duration("delay", e.Delay))
	add(!e.Checkpoint.IsZero(), slog.String("checkpoint", e.Checkpoint.String()))
	add(len(e.Next) > 0, slog.Any("next", e.Next))
	add(e.Err != nil, slog.Any("error", e.Err))
	l.LogAttrs(ctx, level, e.Kind.String(), attrs...)
}

// levelOf returns the level of an event.
func levelOf(e *RunEvent) slog.Level {
	switch e.Kind {
	case EventRunEnded:
		if e.Status == Failed {
			return slog.LevelError
		}
		return slog.LevelInfo
	case EventRunStarted, EventTaskRetry, EventTaskFallback:
		return slog.LevelInfo
	case EventTaskStuck, EventPruneFailed:
		return slog.LevelWarn
	case EventTaskEnded:
		if e.Outcome == OutcomeFailed {
			return slog.LevelWarn
		}
	case EventTaskCached:
		if e.Err != nil {
			return slog.LevelWarn
		}
	}
	return slog.LevelDebug
}

// pathText returns the subgraph calls around an event, such as "read[2]/pay".
func pathText(path []PathElement) string {
	parts := make([]string, len(path))
	for i, e := range path {
		parts[i] = e.String()
	}
	return strings.Join(parts, "/")
}
