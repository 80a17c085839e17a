package archive

import (
	"context"
	"fmt"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Versions returns the versions of a thread for Writer.Add, oldest first. Inputs that wait without
// an open version are a version with the number 0, which Items yields. If the thread does not
// exist, Versions returns checkpoint.ErrNotFound.
func Versions(ctx context.Context, s checkpoint.Saver, thread string) ([]checkpoint.Version, error) {
	versions, err := s.Versions(ctx, thread)
	if err != nil {
		return nil, err
	}
	if last := len(versions) - 1; last < 0 || !versions[last].Released.IsZero() {
		mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: thread, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(mail) > 0 {
			versions = append(versions, checkpoint.Version{Thread: thread, Status: checkpoint.Ready})
		}
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("archive: thread %q: %w", thread, checkpoint.ErrNotFound)
	}
	return versions, nil
}

// Items yields the items of a version, as Saver.Export does. Those of a version with the number 0
// are the thread and its messages, because no saver exports them.
func Items(ctx context.Context, s checkpoint.Saver, v checkpoint.Version) iter.Seq2[checkpoint.ExportItem, error] {
	if v.Number > 0 {
		return s.Export(ctx, v.Thread, v.Number)
	}
	return func(yield func(checkpoint.ExportItem, error) bool) {
		t, err := checkpoint.FindThread(ctx, s, v.Thread)
		if err != nil {
			yield(checkpoint.ExportItem{}, err)
			return
		}
		mail, err := s.Mail(ctx, checkpoint.MailQuery{Thread: v.Thread})
		if !yield(checkpoint.ExportItem{Thread: &t}, err) || err != nil {
			return
		}
		for i := range mail {
			if !yield(checkpoint.ExportItem{Message: &mail[i]}, nil) {
				return
			}
		}
	}
}
