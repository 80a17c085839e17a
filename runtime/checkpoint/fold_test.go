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

func TestFoldChainStartsAtTheNewestSnapshot(t *testing.T) {
	record := func(seq uint64, snapshot bool, payload string) checkpoint.Record {
		return checkpoint.Record{Seq: seq, Snapshot: snapshot, Payload: []byte(payload)}
	}
	chain := []checkpoint.Record{
		record(4, true, "\x81\xa1f\x01"), record(5, false, "not read"), record(6, true, empty), record(7, false, appendA), record(8, false, appendB),
	}
	if got, err := checkpoint.FoldChain(chain); err != nil || string(got) != listAB {
		t.Errorf("got %q, %v, want %q", got, err, listAB)
	}
	for name, chain := range map[string][]checkpoint.Record{"none": nil, "no snapshot first": chain[1:]} {
		if _, err := checkpoint.FoldChain(chain); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%s: got %v, want an ErrDamaged", name, err)
		}
	}
	chain[4].Payload = []byte("\xc0")
	if _, err := checkpoint.FoldChain(chain); err == nil || !strings.Contains(err.Error(), "records 6 to 8") {
		t.Errorf("got %v, want an error that names the records", err)
	}
}
