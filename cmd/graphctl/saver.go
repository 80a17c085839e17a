package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/compress"
	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/open"
)

// store names a saver: its URL, and how its payloads are encrypted and compressed.
type store struct {
	prefix   string // of the flags: empty, or "to-"
	url      string
	keyFile  string
	compress bool
	envURL   string
	envKeys  string
}

// flags adds the flags of a saver.
func (s *store) flags(flags *pflag.FlagSet, prefix, envURL, envKeys string) {
	s.prefix, s.envURL, s.envKeys = prefix, envURL, envKeys
	name, short := "saver", "s"
	if prefix != "" {
		name, short = strings.TrimSuffix(prefix, "-"), ""
	}
	flags.StringVarP(&s.url, name, short, "", "the `URL` of the saver; the default is $"+envURL)
	flags.StringVar(&s.keyFile, prefix+"key-file", "", "the `file` with the keys of an encrypted saver; the default are the keys in $"+envKeys)
	flags.BoolVar(&s.compress, prefix+"compress", false, "compress large payloads that the command stores, as package savers/compress does")
}

// with calls f with the saver of the command line, and closes the saver.
func (a *app) with(cmd *cobra.Command, f func(ctx context.Context, s checkpoint.Saver) error) error {
	if err := a.checkFormat(); err != nil {
		return err
	}
	ctx, cancel := a.limited(cmd.Context())
	defer cancel()
	s, err := a.open(ctx, &a.source, false)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close())
}

// open opens a saver. Unless create is set, its storage must exist.
func (a *app) open(ctx context.Context, from *store, create bool) (checkpoint.Saver, error) {
	rawURL := from.url
	if rawURL == "" {
		rawURL = a.env(from.envURL)
	}
	if rawURL == "" {
		return nil, &usageError{fmt.Sprintf("which saver? Set --%s or $%s to its URL, such as sqlite:///var/lib/app/threads.db", from.flag(), from.envURL)}
	}
	if !create {
		var err error
		if rawURL, err = existing(rawURL); err != nil {
			return nil, err
		}
	}
	keys, err := a.keys(from)
	if err != nil {
		return nil, err
	}
	inner, err := open.Saver(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	s, err := wrap(inner, keys, from.compress)
	s.target = from.prefix != ""
	return s, err
}

func (s *store) flag() string {
	if s.prefix == "" {
		return "saver"
	}
	return strings.TrimSuffix(s.prefix, "-")
}

// wrap wraps a saver. Reads decrypt and decompress. Writes encrypt with the first key, and
// compress if compressed is set. After an error the saver is closed.
func wrap(s checkpoint.Saver, keys []encrypt.Key, compressed bool) (guard, error) {
	if len(keys) > 0 {
		encrypted, err := encrypt.New(s, keys[0], keys[1:]...)
		if err != nil {
			return guard{}, errors.Join(&usageError{err.Error()}, s.Close())
		}
		s = encrypted
	}
	var opts []compress.Option
	if !compressed {
		opts = append(opts, compress.MinSize(math.MaxInt))
	}
	packed, err := compress.New(s, opts...)
	if err != nil {
		return guard{}, errors.Join(err, s.Close())
	}
	return newGuard(packed), nil
}

// existing returns a URL that opens a saver without creating its storage. It returns an error if
// the file or folder of the saver does not exist. Faults of the URL itself are left to package
// open, whose errors contain no password.
func existing(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL, nil //nolint:nilerr // package open reports it, without the password
	}
	switch u.Scheme {
	case "memory":
		return "", &usageError{"memory: is the memory of another process; name a saver that stores threads"}
	case "file", "sqlite":
		path := u.Path
		if u.Opaque != "" {
			path = u.Opaque
			if unescaped, err := url.PathUnescape(u.Opaque); err == nil {
				path = unescaped
			}
		}
		if volume := strings.TrimPrefix(path, "/"); filepath.VolumeName(volume) != "" {
			path = volume
		}
		if _, err := os.Stat(filepath.FromSlash(path)); errors.Is(err, fs.ErrNotExist) {
			return "", &missingError{fmt.Sprintf("there is no saver at %s; check --saver", cell(path))}
		}
	case "mysql", "postgres", "postgresql":
		if !u.Query().Has("schema") && u.Fragment == "" {
			between := "?"
			if strings.Contains(rawURL, "?") {
				between = "&"
			}
			return rawURL + between + "schema=verify", nil
		}
	}
	return rawURL, nil
}

// keys returns the keys of an encrypted saver: none if it is not encrypted. The first one
// encrypts, and all decrypt.
func (a *app) keys(from *store) ([]encrypt.Key, error) {
	where, text := "$"+from.envKeys, a.env(from.envKeys)
	if from.keyFile != "" {
		b, err := from.readKeys()
		if err != nil {
			return nil, err
		}
		where, text = cell(from.keyFile), string(b)
	}
	var keys []encrypt.Key
	for number, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' }) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		id, secret, ok := strings.Cut(line, ":")
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(secret))
		if !ok || err != nil || len(b) != encrypt.SecretSize {
			// The line is not quoted, because it may be a secret.
			return nil, &usageError{fmt.Sprintf("%s: key %d is not ID:SECRET, with a secret of %d bytes in base64", where, number+1, encrypt.SecretSize)}
		}
		keys = append(keys, encrypt.Key{ID: id, Secret: bytes.Clone(b)})
	}
	if from.keyFile != "" && len(keys) == 0 {
		return nil, &usageError{fmt.Sprintf("%s has no key; want lines ID:SECRET", where)}
	}
	return keys, nil
}

// readKeys returns the contents of the file with the keys. It refuses a file that every user of
// the machine can read.
func (s *store) readKeys() (b []byte, err error) {
	flag := "--" + s.prefix + "key-file"
	f, err := os.Open(s.keyFile)
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(s.keyFile, ":") {
		// The value may be a secret, so the error does not contain it.
		return nil, &usageError{fmt.Sprintf("%s names no file. It takes the name of a file, not a key: others can read the arguments of a process. "+
			"If you passed a key, replace that key", flag)}
	}
	if err != nil {
		return nil, &usageError{"the keys cannot be read: " + err.Error()}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, &usageError{"the keys cannot be read: " + err.Error()}
	}
	const others = 0o007
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&others != 0 {
		return nil, &usageError{fmt.Sprintf("%s: the file of %s has the permissions %04o, so every user of this machine can use the keys; run chmod 600",
			cell(s.keyFile), flag, mode.Perm())}
	}
	if b, err = io.ReadAll(io.LimitReader(f, maxKeys+1)); err != nil {
		return nil, &usageError{"the keys cannot be read: " + err.Error()}
	}
	if len(b) > maxKeys {
		return nil, &usageError{fmt.Sprintf("%s has more than %d bytes, so it has not only keys", cell(s.keyFile), maxKeys)}
	}
	return b, nil
}

// maxKeys is the size of the largest file with keys, in bytes.
const maxKeys = 1 << 20
