package file_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

func TestAWriteThatNoFrameHoldsIsTooLarge(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("no write is that large")
	}
	limit := int64(math.MaxUint32)
	var tooLarge *checkpoint.SizeError
	if err := file.FitsFrame(int(limit + 1)); !errors.As(err, &tooLarge) || tooLarge.Limit != limit || int64(tooLarge.Size) != limit+1 {
		t.Errorf("a write of 4 GiB: got %v, want a *checkpoint.SizeError with both sizes", err)
	}
	if err := file.FitsFrame(int(limit)); err != nil {
		t.Errorf("a write of %d bytes: got %v, want no error", limit, err)
	}
}
