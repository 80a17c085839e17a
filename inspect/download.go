package inspect

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// writeTime is how long one write of a download may take. A reader who stops reading would
// otherwise keep a transaction of the saver open.
const writeTime = 30 * time.Second

// download streams a thread as an archive. An error after its beginning marks a version of the
// archive as incomplete, so that no reader takes it for the whole thread.
func (in *Inspector) download(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	if _, err := in.find(r, Download, p.Thread); err != nil {
		return err
	}
	versions, err := archive.Versions(r.Context(), in.saver, p.Thread)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(p.Thread)}))
	if r.Method == http.MethodHead {
		return nil
	}
	out := &limitedWriter{to: w, control: http.NewResponseController(w)}
	archived := archive.NewWriter(out)
	for _, v := range versions {
		err = errors.Join(err, archived.Add(v, in.atMost(out, archive.Items(r.Context(), in.saver, v))))
	}
	if err = errors.Join(err, archived.Close()); err != nil {
		in.opt.Log.LogAttrs(r.Context(), slog.LevelError, "a download is incomplete",
			slog.String("thread", p.Thread), slog.String("error", err.Error()))
	}
	return nil // the answer has begun
}

// atMost yields items until the download has the largest size.
func (in *Inspector) atMost(out *limitedWriter, items iter.Seq2[checkpoint.ExportItem, error]) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if err == nil && out.written > in.opt.MaxDownload {
				err = fmt.Errorf("the archive has more than %d bytes, the MaxDownload of inspect.Options; export the thread by graphctl export", in.opt.MaxDownload)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// limitedWriter counts bytes, and limits the time of each write.
type limitedWriter struct {
	to      io.Writer
	control *http.ResponseController
	written int64
}

func (w *limitedWriter) Write(b []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := w.to.Write(b)
	w.written += int64(n)
	return n, err
}

// fileName returns the name of the archive of a thread. Characters that a file system could
// interpret become hyphens.
func fileName(thread string) string {
	plain := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}
	name := strings.Map(plain, thread)
	return name[:min(len(name), 100)] + ".graphgen"
}
