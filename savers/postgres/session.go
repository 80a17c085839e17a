package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A role, a database and a server can change the settings of a session, and a pooler can give each
// transaction another session. So no statement relies on such a setting:
//
//   - Literals with a backslash are of the form E'...', which standard_conforming_strings does not
//     change.
//   - Arrays have no NULLs, which array_nulls = off makes texts of.
//   - Bytes are read in both forms of bytea_output.
//   - client_encoding is a parameter of the connection, which poolers keep for each client.
//   - Functions have the settings of their plans.

// sessions makes connections whose results do not depend on the settings of their sessions. A
// connection to a server that takes no writes is closed, so that the next one finds the server
// that does.
func sessions(config *pgxpool.Config) {
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "bytea", OID: pgtype.ByteaOID, Codec: bytea{}})
		return nil
	}
	keep := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != codeReadOnly && keep(conn, err)
	}
}

// bytea reads bytes in both forms of bytea_output. In the form escape, no value begins with \x,
// because a backslash is doubled there.
type bytea struct{ pgtype.ByteaCodec }

// PlanScan returns how to read a value.
func (c bytea) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	plan := c.ByteaCodec.PlanScan(m, oid, format, target)
	if _, ok := target.(*[]byte); ok && format == pgtype.TextFormatCode {
		return textPlan{plan}
	}
	return plan
}

// textPlan reads text: hex by its own plan, and else escape.
type textPlan struct{ hex pgtype.ScanPlan }

// Scan reads a value.
func (p textPlan) Scan(src []byte, target any) error {
	if src == nil || len(src) > 1 && src[0] == '\\' && src[1] == 'x' {
		return p.hex.Scan(src, target)
	}
	to, ok := target.(*[]byte)
	if !ok {
		return fmt.Errorf("bytes into %T", target)
	}
	*to = make([]byte, 0, len(src))
	for len(src) > 0 {
		b, size, err := unescape(src)
		if err != nil {
			return err
		}
		*to, src = append(*to, b), src[size:]
	}
	return nil
}

// unescape returns the byte at the beginning of a text: itself, \\ or three octal digits after a
// backslash.
func unescape(text []byte) (b byte, size int, err error) {
	switch {
	case text[0] != '\\':
		return text[0], 1, nil
	case len(text) > 1 && text[1] == '\\':
		return '\\', 2, nil
	case len(text) < 4:
		return 0, 0, errEscape
	}
	for _, digit := range text[1:4] {
		if digit < '0' || digit > '7' {
			return 0, 0, errEscape
		}
		b = b<<3 | (digit - '0')
	}
	return b, 4, nil
}

var errEscape = errors.New("bytes are neither in the form hex nor in the form escape")

// codeReadOnly is the SQLSTATE of a refused write. The server is a standby, or a failover has
// demoted it, or the session takes no writes.
const codeReadOnly = "25006"
