package mysql

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// parse reads a DSN. Its errors quote nothing that a password can be part of.
func parse(dsn string) (*mysql.Config, error) {
	if _, params, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?"); strings.Contains("&"+params, "&strict=") {
		return nil, errors.New(`there is no setting "strict": the saver sets sql_mode`) // the driver would panic
	}
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New(fault(dsn, err))
	}
	if strings.ContainsAny(config.Net, ":@/") || config.Net == "tcp" && strings.ContainsAny(config.Addr, "()@/") {
		return nil, errors.New("the DSN has no @ between the password and the address: " + form) // they are some of a password
	}
	return config, nil
}

// check returns an error for a configuration that no server can take.
func check(config *mysql.Config) error {
	for _, name := range slices.Sorted(maps.Keys(config.Params)) { // the driver sets them as variables of the session
		low := strings.ToLower(name)
		switch {
		case strings.Contains(low, "pass"), strings.Contains(low, "pwd"):
			return errors.New("a password is no parameter of the DSN: " + form)
		case strings.HasPrefix(low, "ssl"), strings.HasPrefix(low, "usessl"):
			return fmt.Errorf("there is no setting %q: for TLS, want tls=true, tls=skip-verify or tls=preferred", name)
		case strings.Trim(low, "abcdefghijklmnopqrstuvwxyz0123456789_.@`") != "":
			return fmt.Errorf("there is no setting %q, and no variable of a server has such a name", name)
		}
	}
	if config.DBName == "" {
		return errors.New("the DSN names no database: " + form)
	}
	return nil
}

const form = "want user:password@tcp(host:3306)/database"

// fault says why the driver does not take a DSN. The driver's own error may quote any part of it.
func fault(dsn string, err error) string {
	if strings.HasPrefix(err.Error(), "invalid DSN: ") { // these quote nothing
		return err.Error() + ": " + form
	}
	_, params, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for param := range strings.SplitSeq(params, "&") {
		name, _, _ := strings.Cut(param, "=")
		if _, err := mysql.ParseDSN("/?" + param); err != nil && !strings.Contains(params, "@") {
			return fmt.Sprintf("the DSN's parameter %q does not take this value", name)
		}
	}
	return "the DSN cannot be parsed: " + form
}
