package mysql_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

func TestStatements(t *testing.T) {
	dsn := testenv.MySQL(t)
	s, err := mysql.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sqltest.Statements(t, database(t, dsn), "EXPLAIN")
}
