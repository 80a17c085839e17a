package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

const (
	empty   = "\x80"
	appendA = "\x92\x00\x81\xa1f\x92\x01\x91\xa1a"
	appendB = "\x92\x00\x81\xa1f\x92\x01\x91\xa1b"
	listAB  = "\x81\xa1f\x92\xa1a\xa1b"
)

func TestFoldBringsASnapshotUpToDate(t *testing.T) {
	got, err := checkpoint.Fold([]byte(empty), []byte(appendA), []byte(appendB))
	if err != nil || string(got) != listAB {
		t.Errorf("got %q, %v, want %q", got, err, listAB)
	}
	if got, err := checkpoint.Fold([]byte(listAB)); err != nil || string(got) != listAB {
		t.Errorf("without deltas: got %q, %v, want %q", got, err, listAB)
	}
}

func TestFoldRefusesDamage(t *testing.T) {
	_, err := checkpoint.Fold([]byte(empty), []byte(appendA), []byte(appendB[:5]))
	var at *wire.Error
	if !errors.Is(err, checkpoint.ErrDamaged) || !errors.As(err, &at) || !strings.Contains(err.Error(), "delta 2 of 2") {
		t.Errorf("got %v, want an ErrDamaged of delta 2 of 2 with a *wire.Error in it", err)
	}
}
