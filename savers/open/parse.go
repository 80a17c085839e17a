package open

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// parse returns a URL, and its settings. Its errors quote nothing that a password can be part of: one that is not
// percent-encoded can stand anywhere in what net/url makes of it.
func parse(rawURL string) (*settings, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, &URLError{Reason: "the URL cannot be parsed: " + fault(err) + "; " + encode}
	}
	s := &settings{u: u}
	if s.values, err = url.ParseQuery(u.RawQuery); err != nil {
		return nil, s.bad("its settings cannot be parsed: " + fault(err) + "; want name=value, percent-encoded, with & between")
	}
	return s, nil
}

// encode is what to do about a password that stands where it does not belong.
const encode = "a password has to be percent-encoded: % as %25, / as %2F, ? as %3F, # as %23, @ as %40"

// fault says what net/url found, without what it quotes.
func fault(err error) string {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	switch {
	case errors.As(err, new(url.EscapeError)):
		return "a % begins no escape"
	case errors.As(err, new(url.InvalidHostError)):
		return "a host has a character that no host has"
	case strings.Contains(err.Error(), "invalid port"):
		return "a port is no number"
	}
	return "it is malformed"
}

// stray reports whether an @ stands in a URL where no host follows it. Only a password that is not percent-encoded
// brings one there, or a path.
func stray(u *url.URL) bool {
	for _, part := range [...]string{u.Opaque, u.EscapedPath(), u.RawQuery, u.EscapedFragment()} {
		if strings.Contains(part, "@") {
			return true
		}
	}
	return false
}

// shown returns what of a URL an error may show: never its user, its settings, or what a password may be part of.
func shown(u *url.URL) string {
	if stray(u) {
		return u.Scheme + ":"
	}
	bare := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath, OmitHost: u.OmitHost}
	return bare.String()
}

// misplaced finds a password where none belongs, whatever the settings mean. server says that the URL names a server.
func (s *settings) misplaced(server bool) error {
	if stray(s.u) && (server || s.u.Host != "") {
		return s.bad("an @ stands after the host; " + encode)
	}
	if !server {
		if s.u.User != nil {
			return s.bad("it names a user, and there is no server")
		}
		return nil
	}
	form := fmt.Sprintf("want %s://user:password@host", s.u.Scheme)
	for name, values := range s.values {
		switch {
		case s.u.Scheme != "postgres" && s.u.Scheme != "postgresql" && secret(name):
			return s.bad("a password is no setting: " + form)
		case name == "addr" && strings.Contains(strings.Join(values, ""), "@"):
			return s.bad("an address has an @; the user and the password of the URL are those of all: " + form)
		}
	}
	switch {
	case s.u.Opaque != "":
		return &URLError{Reason: form}
	case s.u.Fragment != "":
		return &URLError{Reason: "a # stands after the host; " + encode}
	}
	return nil
}

// secret reports whether the value of a setting of this name is one that nobody may see.
func secret(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pass") || strings.Contains(name, "pwd") || strings.Contains(name, "secret")
}
