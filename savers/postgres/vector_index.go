package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/graphgen-go/graphgen/runtime/store"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// Limits of HNSW indexes of pgvector, in dimensions.
const (
	maxVector  = 2000 // vector
	maxHalfvec = 4000 // halfvec, with numbers of 2 bytes
)

// vectorIndexes are HNSW indexes of pgvector.
type vectorIndexes struct {
	create bool // make those that are missing
}

// open returns the search by the HNSW index of a vector index; nil without pgvector 0.8 or later.
func (v vectorIndexes) open(ctx context.Context, tx sqlsaver.Tx, spec store.VectorSpec) (*sqlsaver.VectorSearch, error) {
	schema, err := extension(ctx, tx)
	if err != nil || schema == "" || spec.Dims > maxHalfvec {
		return nil, err
	}
	h := hnsw{
		schema: pgx.Identifier{schema}.Sanitize(), //nolint:misspell // it is spelled so
		kind:   "vector", dims: spec.Dims,
		where: fmt.Sprintf(`name = E'\\x%x'::bytea`, spec.Name),
	}
	if spec.Dims > maxVector {
		h.kind = "halfvec"
	}
	sum := sha256.Sum256([]byte(spec.Name))
	index := "graph_store_vector_" + hex.EncodeToString(sum[:8])
	exists, err := text(ctx, tx, "SELECT to_regclass($1)::text", index)
	if err != nil || exists == "" && !v.create {
		return nil, err
	}
	if exists == "" {
		// Two processes may be here.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", "graphgen "+index); err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "CREATE INDEX IF NOT EXISTS "+index+" ON graph_vector USING hnsw (("+
			h.vec()+") "+h.schema+"."+h.kind+"_ip_ops) WHERE "+h.where); err != nil {
			return nil, fmt.Errorf("make the index %s: %w", index, err)
		}
	}
	return h.search(), nil
}

// extension returns the schema of pgvector; empty if there is none that is new enough.
func extension(ctx context.Context, tx sqlsaver.Tx) (schema string, err error) {
	found, err := text(ctx, tx, "SELECT e.extversion || ' ' || n.nspname FROM pg_extension e JOIN pg_namespace n "+
		"ON n.oid = e.extnamespace WHERE e.extname = $1", "vector")
	version, schema, _ := strings.Cut(found, " ")
	parts := strings.SplitN(version, ".", 3)
	if err != nil || len(parts) < 2 {
		return "", err
	}
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major == 0 && minor < 8 { // it has no iterative scans
		return "", nil
	}
	return schema, nil
}

// text returns the value that a statement returns; empty for none and NULL.
func text(ctx context.Context, tx sqlsaver.Tx, statement, arg string) (value string, err error) {
	rows, err := tx.Query(ctx, statement, arg)
	if err != nil {
		return "", err
	}
	var found *string
	for rows.Next() {
		if err = rows.Scan(&found); err != nil {
			break
		}
	}
	if closed := rows.Close(); err == nil {
		err = closed
	}
	if found == nil {
		return "", err
	}
	return *found, err
}

// hnsw is an HNSW index.
type hnsw struct {
	schema string // of pgvector
	kind   string // vector or halfvec
	dims   int
	where  string // what the rows of the vector index have: the predicate of the index
}

// vec returns the vector of a row as a type of pgvector.
func (h *hnsw) vec() string { return "vec::" + h.cast() }

// cast returns the SQL type of the vectors of the index.
func (h *hnsw) cast() string { return fmt.Sprintf("%s.%s(%d)", h.schema, h.kind, h.dims) }

// search returns the statements that search by the index.
func (h *hnsw) search() *sqlsaver.VectorSearch {
	return &sqlsaver.VectorSearch{
		Settings: func(rows int) []string {
			return []string{
				"SET LOCAL hnsw.iterative_scan = strict_order",
				fmt.Sprintf("SET LOCAL hnsw.ef_search = %d", min(max(2*rows, minSearch), maxSearch)),
			}
		},
		Text: fmt.Sprintf("SELECT pk FROM graph_vector WHERE pk >= $1 AND pk < $2 AND %s ORDER BY (%s) OPERATOR(%s.<#>) $3::real[]::%s LIMIT $4",
			h.where, h.vec(), h.schema, h.cast()),
	}
}

// minSearch and maxSearch are bounds of hnsw.ef_search, the number of candidates of a search. The
// default of pgvector is 40, and its maximum 1000.
const (
	minSearch = 100
	maxSearch = 1000
)
