package main

import (
	"net/url"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/graphgen-go/graphgen/internal/testenv"
)

func TestRedis(t *testing.T) {
	addr, prefix := testenv.Redis(t)
	onServer(t, "redis://"+addr+"/0?allow_unsafe_settings=true&prefix="+url.QueryEscape(prefix))
}

func TestPostgres(t *testing.T) { onServer(t, testenv.Postgres(t)) }

func TestMySQL(t *testing.T) {
	dsn := testenv.MySQL(t)
	part := regexp.MustCompile(`^([^:@]*):?([^@]*)@tcp\((.*)\)/([^?]*)`).FindStringSubmatch(dsn)
	if part == nil {
		t.Fatalf("got the DSN %q, want user:password@tcp(host:port)/database", dsn)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(part[1], part[2]), Host: part[3], Path: part[4]}
	onServer(t, u.String())
}

// onServer runs the scripts of servers on one saver.
func onServer(t *testing.T, saver string) {
	t.Helper()
	testscript.Run(t, params("servers", "GRAPHCTL_SAVER="+saver))
}
