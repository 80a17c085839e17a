package open

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// parse returns a URL and its settings. Its errors never quote text that may contain part of a
// password. A password that is not percent-encoded can be in any part of the result of net/url.
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

// encode tells the user how to write a password.
const encode = "a password has to be percent-encoded: % as %25, / as %2F, ? as %3F, # as %23, @ as %40"

// fault describes an error of net/url without quoting the URL.
func fault(err error) string {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	switch {
	case errors.As(err, new(url.EscapeError)):
		return "a % is not followed by two hexadecimal digits"
	case errors.As(err, new(url.InvalidHostError)):
		return "the host contains an invalid character"
	case strings.Contains(err.Error(), "invalid port"):
		return "the port is not a number"
	}
	return "it is malformed"
}

// stray reports whether a URL contains an @ that no host follows. The causes are a password that
// is not percent-encoded, and a path.
func stray(u *url.URL) bool {
	for _, part := range [...]string{u.Opaque, u.EscapedPath(), u.RawQuery, u.EscapedFragment()} {
		if strings.Contains(part, "@") {
			return true
		}
	}
	return false
}

// shown returns the part of a URL that an error may contain. It omits the user, the settings, and
// every part that may contain a password.
func shown(u *url.URL) string {
	if stray(u) {
		return u.Scheme + ":"
	}
	bare := url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path, RawPath: u.RawPath, OmitHost: u.OmitHost}
	return bare.String()
}

// misplaced returns an error for a password outside the user info, whatever the settings mean.
// server means that the URL names a server.
func (s *settings) misplaced(server bool) error {
	if stray(s.u) && (server || s.u.Host != "") {
		return s.bad("an @ follows the host; " + encode)
	}
	if !server {
		if s.u.User != nil {
			return s.bad("it names a user, but it has no server; remove the user")
		}
		return nil
	}
	form := fmt.Sprintf("want %s://user:password@host", s.u.Scheme)
	for name, values := range s.values {
		switch {
		case s.u.Scheme != "postgres" && s.u.Scheme != "postgresql" && secret(name):
			return s.bad("a setting must not be a password: " + form)
		case name == "addr" && strings.Contains(strings.Join(values, ""), "@"):
			return s.bad("an address has an @, but all addresses use the user and password of the URL: " + form)
		}
	}
	switch {
	case s.u.Opaque != "":
		return &URLError{Reason: form}
	case s.u.Fragment != "":
		return &URLError{Reason: "a # follows the host; " + encode}
	}
	return nil
}

// secret reports whether the value of a setting with this name is secret.
func secret(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "pass") || strings.Contains(name, "pwd") || strings.Contains(name, "secret")
}
