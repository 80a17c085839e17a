package encrypt_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/savers/encrypt"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestNoLogShowsASecret(t *testing.T) {
	secret := []byte("0123456789abcdefghijklmnopqrstuv")
	key := encrypt.Key{ID: "k1", Secret: secret}
	saver, err := encrypt.New(memory.New(), key)
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for what, v := range map[string]any{
		"a key": key, "a pointer": &key, "keys": []encrypt.Key{key}, "a map": map[string]encrypt.Key{"k": key},
		"a struct": struct{ Key encrypt.Key }{key}, "a secret": key.Secret, "a saver": saver, "a pointer to a saver": &saver,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% X", "%d", "%o", "%b", "%c", "%U"} {
			texts[verb+" of "+what] = fmt.Sprintf(verb, v)
		}
		var text, js bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("started", "value", v, slog.Group("in", "a", v))
		slog.New(slog.NewJSONHandler(&js, nil)).Info("started", "value", v, slog.Group("in", "a", v))
		texts["slog text of "+what], texts["slog JSON of "+what] = text.String(), js.String()
		if b, err := json.Marshal(v); err == nil {
			texts["JSON of "+what] = string(b)
		}
	}
	part := secret[:4]
	for what, text := range texts {
		for _, form := range []string{
			string(part), hex.EncodeToString(part), strings.ToUpper(hex.EncodeToString(part)), fmt.Sprintf("% X", part),
			strings.Trim(fmt.Sprintf("%d", part), "[]"), fmt.Sprintf("%#x, %#x", part[0], part[1]), base64.StdEncoding.EncodeToString(secret)[:8],
			strings.Trim(fmt.Sprintf("%o", part), "[]"), strings.Trim(fmt.Sprintf("%b", part), "[]"), strings.Trim(fmt.Sprintf("%c", part), "[]"),
			strings.Trim(fmt.Sprintf("%U", part), "[]"),
		} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows the secret: %s", what, text)
			}
		}
	}
	if got := texts["%v of a key"]; got != "{k1 [secret]}" {
		t.Errorf("got %s, want the id of the key", got)
	}
}

func TestAKeyThatWasLoggedCannotBeReadBack(t *testing.T) {
	b, err := json.Marshal(encrypt.Key{ID: "k1", Secret: make([]byte, encrypt.SecretSize)})
	if err != nil {
		t.Fatal(err)
	}
	var back encrypt.Key
	if err := json.Unmarshal(b, &back); err == nil {
		t.Errorf("%s was read as %q; want an error", b, back.Secret)
	}
	stored := []byte(`{"ID": "k1", "Secret": "` + base64.StdEncoding.EncodeToString(make([]byte, encrypt.SecretSize)) + `"}`)
	if err := json.Unmarshal(stored, &back); err != nil || len(back.Secret) != encrypt.SecretSize {
		t.Errorf("a key of a configuration: got %d bytes, %v; want %d", len(back.Secret), err, encrypt.SecretSize)
	}
}
