package memrows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// failing is a Store whose reads fail.
type failing struct{ rows.Store }

var errRead = errors.New("no connection")

func (failing) Read(context.Context, ...rows.Range) ([][]rows.Row, time.Time, error) {
	return nil, time.Time{}, errRead
}

func TestAFailedReadIsTheErrorOfTheCall(t *testing.T) {
	ctx, s := t.Context(), rows.New("test", failing{newStore()}, rows.Options{})
	head := checkpoint.Ref{Thread: "t"}
	message := checkpoint.Message{ID: "1", Kind: checkpoint.InputMessage}
	for name, call := range map[string]func() error{
		"load":     func() error { _, err := s.Load(ctx, head); return err },
		"versions": func() error { _, err := s.Versions(ctx, "t"); return err },
		"release":  func() error { _, err := s.Release(ctx, "t", checkpoint.ID{}); return err },
		"delete":   func() error { return s.Delete(ctx, "t") },
		"rewake":   func() error { return s.Rewake(ctx, checkpoint.Rewake{Thread: "t"}) },
		"ready": func() error {
			_, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Second})
			return err
		},
		"post": func() error {
			_, err := s.Post(ctx, checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{message}})
			return err
		},
		"news": func() error { _, err := s.News(ctx, []string{"t"}); return err },
		"mail": func() error { _, err := s.Mail(ctx, checkpoint.MailQuery{Thread: "t"}); return err },
		"threads": func() (err error) {
			for _, err = range s.Threads(ctx, checkpoint.ThreadQuery{}) {
			}
			return err
		},
		"history": func() (err error) {
			for _, err = range s.History(ctx, head, checkpoint.Query{}) {
			}
			return err
		},
		"export": func() (err error) {
			for _, err = range s.Export(ctx, "t", 0) {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, errRead) {
			t.Errorf("%s: got %v, want %v", name, err, errRead)
		}
	}
}
