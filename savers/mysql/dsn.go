package mysql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// parse reads a DSN. Its errors quote nothing that a password can be part of.
func parse(dsn string) (*mysql.Config, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New(fault(dsn, err))
	}
	for name := range config.Params { // the driver sets them as variables of the session
		if low := strings.ToLower(name); strings.Contains(low, "pass") || strings.Contains(low, "pwd") {
			return nil, errors.New("a password is no parameter of the DSN: " + form)
		}
	}
	switch {
	case strings.ContainsAny(config.Net, ":@/"), config.Net == "tcp" && strings.ContainsAny(config.Addr, "()@/"):
		return nil, errors.New("the DSN has no @ between the password and the address: " + form) // they are some of a password
	case config.DBName == "":
		return nil, errors.New("the DSN names no database: " + form)
	}
	return config, nil
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
