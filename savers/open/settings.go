package open

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings holds the settings of a URL. Each method removes the setting that it reads, and keeps
// errors for end.
type settings struct {
	u      *url.URL
	values url.Values
	err    error
}

// bad returns the error for a URL that its saver rejects.
func (s *settings) bad(reason string) error { return &URLError{URL: shown(s.u), Reason: reason} }

// path returns the path of a file or folder.
func (s *settings) path() string {
	path := s.u.Path
	if s.u.Opaque != "" {
		opaque, err := url.PathUnescape(s.u.Opaque)
		if err != nil {
			s.err = errors.Join(s.err, s.bad("its path cannot be parsed: "+fault(err)+"; want it percent-encoded"))
		}
		path = opaque
	}
	switch {
	case s.u.Host != "" && s.u.Host != "localhost":
		s.err = errors.Join(s.err, s.bad(fmt.Sprintf("%q is in the place of the host; want three slashes before an absolute path, or none before a relative one", s.u.Host)))
	case path == "":
		s.err = errors.Join(s.err, s.bad("it has no path; want "+s.u.Scheme+":///folder/name, or "+s.u.Scheme+":name"))
	}
	if volume := strings.TrimPrefix(path, "/"); filepath.VolumeName(volume) != "" {
		path = volume // /C:/threads
	}
	return filepath.FromSlash(path)
}

// rest returns the settings that are left, as the URL has them: drivers differ in what they
// decode.
func (s *settings) rest() string {
	var rest []string
	for setting := range strings.SplitSeq(s.u.RawQuery, "&") {
		name, _, _ := strings.Cut(setting, "=")
		if name, err := url.QueryUnescape(name); err == nil && s.values.Has(name) {
			rest = append(rest, setting)
		}
	}
	return strings.Join(rest, "&")
}

// certificates returns a configuration of TLS with the files that a URL names; nil if it names
// none. The names of the settings are those of PostgreSQL.
func (s *settings) certificates() *tls.Config {
	root, cert, key := s.take("sslrootcert"), s.take("sslcert"), s.take("sslkey")
	if root+cert+key == "" {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if root != "" {
		config.RootCAs = x509.NewCertPool()
		b, err := os.ReadFile(root)
		if err == nil && !config.RootCAs.AppendCertsFromPEM(b) {
			err = fmt.Errorf("%s has no certificate in PEM; name the file of the authority", root)
		}
		if err != nil {
			s.err = errors.Join(s.err, s.bad("sslrootcert: "+err.Error()))
		}
	}
	if cert+key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			s.err = errors.Join(s.err, s.bad("sslcert and sslkey: "+err.Error()))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// take returns a setting. It is empty if the setting is missing.
func (s *settings) take(name string) string {
	value := s.values.Get(name)
	if values := s.values[name]; len(values) > 1 || len(values) == 1 && value == "" {
		s.err = errors.Join(s.err, s.bad(fmt.Sprintf("%s: want one value", name)))
	}
	s.values.Del(name)
	return value
}

// one returns a setting that must be one of words. It is empty if the setting is missing.
func (s *settings) one(name string, words ...string) string {
	value := s.take(name)
	if value != "" && !slices.Contains(words, value) {
		s.wrong(name, value, strings.Join(words, " or "))
	}
	return value
}

// wrong notes that the setting name has a value other than it may have.
func (s *settings) wrong(name, value, want string) {
	s.err = errors.Join(s.err, s.bad(fmt.Sprintf("%s is %q; want %s", name, value, want)))
}

// yes returns a setting that must be true or false. It is false if the setting is missing.
func (s *settings) yes(name string) bool { return s.one(name, "true", "false") == "true" }

// duration returns a duration above zero. It is 0 if the setting is missing.
func (s *settings) duration(name string) time.Duration {
	value := s.take(name)
	d, err := time.ParseDuration(value)
	if value != "" && (err != nil || d <= 0) {
		s.wrong(name, value, "a time such as 30s")
	}
	return d
}

// number returns a number above zero. It is 0 if the setting is missing.
func (s *settings) number(name string, bits int) int64 {
	value := s.take(name)
	n, err := strconv.ParseInt(value, 10, bits)
	if value != "" && (err != nil || n <= 0) {
		s.wrong(name, value, "a number above 0")
	}
	return n
}

// end returns the errors of all settings. Settings that were not read are errors too.
func (s *settings) end() error {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		s.err = errors.Join(s.err, s.bad(fmt.Sprintf("there is no setting %q; correct its name, or remove it", name)))
	}
	return s.err
}
