// Package foreign uses types of other packages that cannot be stored.
package foreign

import (
	"net/http"
	"strings"

	"github.com/graphgen-go/graphgen/testdata/bad/foreign/other"
)

//graphgen:state
type State struct {
	Hidden   other.Hidden    // want `State.Hidden: type other.Hidden has the unexported field n, which code of package foreign cannot reach; mark other.Hidden with //graphgen:payload and run graphgen in its package, or give other.Hidden the methods MarshalBinary and UnmarshalBinary, or tag the field untracked`
	Deep     other.Deep      // want `in other.Deep.Inner: type other.Hidden has the unexported field n`
	Nameless other.Nameless  // want `type other.unnamed is not exported, so code of package foreign cannot name it`
	Secret   other.Secret    // want `type secret.Secret is of the internal package .*/internal/secret, which package foreign cannot import; import a package that declares an exported alias of secret.Secret, copy what you need`
	Builder  strings.Builder // want `type strings.Builder has the unexported field addr.*copy what you need of strings.Builder into a type of package foreign, or store an asjson.Value\[strings.Builder\]`
	Client   *http.Client    // want `in http.Client.CheckRedirect: type func` `in http.Client.Transport: type http.RoundTripper is an open interface` `http.Client.Jar: type http.CookieJar`
}
