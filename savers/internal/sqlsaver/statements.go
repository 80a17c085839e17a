package sqlsaver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// statement identifies a statement. The files of each dialect have it under the name that
// signatures gives.
type statement int

// The statements that only read.
const (
	stThread statement = iota
	stVersion
	stVersions
	stReleasedVersions
	stLastReleasedVersion
	stLog
	stLogs
	stHead
	stRootHead
	stCountRecords
	stLines
	stRecord
	stBase
	stNewestSnapshot
	stRecords
	stPackable
	stHistory
	stHistoryHeaders
	stHeaders
	stIDs
	stPacks
	stPackBefore
	stPacksOfID
	stUnsettled
	stWrites
	stSchemas
	stThreads
	stThreadsByStatus
	stThreadsByGraph
	stThreadsByGraphStatus
	stThreadsByLabel
	stThreadsFewIdle
	stThreadsFewCreated
	stCountIdle
	stCountCreated
	stReady
	stQuestions
	stPlace
	stChain
	stReadByIndex
	stStoreGet
	stStoreFind
	stStoreNamespace
	stStoreVectors
	stStoreSearch
	stStoreDeclared
	reads // their number
)

// The statements that write, or lock what will be written.
const (
	stLockThread = reads + iota
	stInsertThread
	stUpdateThread
	stInsertLabel
	stRemoveLabel
	stRenewLease
	stEndRun
	stEndLease
	stRewake
	stLockReady
	stReserve
	stInsertVersion
	stReleaseVersion
	stPutState
	stInsertLog
	stInsertLine
	stInsertRecord
	stMarkCommitted
	stMarkNextRemoved
	stRewriteRecord
	stRemoveRecords
	stInsertPack
	stRemovePack
	stMarkPacked
	stSettle
	stUnsettle
	stRemoveLines
	stCommit
	stPutWriteFenced
	stKeepWriteFenced
	stPutWrite
	stKeepWrite
	stPutWrites4
	stKeepWrites4
	stPutWrites16
	stKeepWrites16
	stDiscardWrite
	stRemoveBaseWrites
	stSweepWrites
	stRemoveVersionWrites
	stRemoveVersionRecords
	stRemoveVersionPacks
	stRemoveVersionLines
	stRemoveVersionLogs
	stRemoveVersionState
	stRemoveVersion
	stDeleteWrites
	stDeleteRecords
	stDeletePacks
	stDeleteLines
	stDeleteLogs
	stDeleteState
	stDeleteVersions
	stDeleteThread
	stStoreNow
	stStoreLock
	stStoreInsert
	stStoreUpdate
	stStoreTouch
	stStoreInsertEntry
	stStoreRemoveEntry
	stStorePutVector
	stStoreDropVector
	stStoreDeclare
	stStoreUsed
	stStoreUse
	stStoreExpired
	stStorePurge
	stStoreForget
	prepared // the number of statements that are prepared when a saver is opened
)

// The statements that make and check the tables.
const (
	stHasSchema = prepared + iota
	stSchemaVersion
	stInsertSchemaVersion
	stLockSchema
	stUnlockSchema
	stDropTables
	stDropFunctions
	statements // the number of all statements
)

// signature is what a dialect's files must say of a statement.
type signature struct {
	name       string
	parameters string // the names of the values that the program binds, in order
	optional   bool   // a dialect may lack it
}

// signatures returns the signatures of all statements.
func signatures() [statements]signature {
	return [...]signature{
		stThread: {name: "thread", parameters: "thread_key"},
		stPlace:  {name: "place", parameters: "thread_key, number, ns_key, at"},
		stChain: {
			name:       "chain",
			parameters: "thread_no, number, ns_key, log_no, root, first, last, base, least_line, last_line",
		},
		stVersion:             {name: "version", parameters: "thread_no, number"},
		stVersions:            {name: "versions", parameters: "thread_key"},
		stReleasedVersions:    {name: "released_versions", parameters: "thread_no"},
		stLastReleasedVersion: {name: "last_released_version", parameters: "thread_no"},
		stLog:                 {name: "log", parameters: "thread_no, version, ns_key"},
		stLogs:                {name: "logs", parameters: "thread_no, version"},
		stHead:                {name: "head", parameters: "log_no"},
		stRootHead:            {name: "root_head", parameters: "log_no"},
		stCountRecords:        {name: "count_records", parameters: "log_no"},
		stLines:               {name: "lines", parameters: "root, first, last"},
		stRecord:              {name: "record", parameters: "root, id"},
		stBase:                {name: "base", parameters: "root, id"},
		stNewestSnapshot:      {name: "newest_snapshot", parameters: "log_no"},
		stRecords:             {name: "records", parameters: "log_no, first, last"},
		stPackable:            {name: "packable", parameters: "log_no, first, last"},
		stHistory:             {name: "history", parameters: "log_no, last, limit"},
		stHistoryHeaders:      {name: "history_headers", parameters: "log_no, last, limit"},
		stHeaders:             {name: "headers", parameters: "log_no"},
		stIDs:                 {name: "ids", parameters: "log_no, first, last"},
		stPacks:               {name: "packs", parameters: "log_no, first, last"},
		stPackBefore:          {name: "pack_before", parameters: "log_no, seq"},
		stPacksOfID:           {name: "packs_of_id", parameters: "root, id"},
		stUnsettled:           {name: "unsettled", parameters: "log_no"},
		stWrites:              {name: "writes", parameters: "root"},
		stSchemas:             {name: "schemas", parameters: "root"},
		stThreads: {
			name:       "threads",
			parameters: "first_key, end_key, idle_since, created_since, created_until, limit",
		},
		stThreadsByStatus: {
			name:       "threads_by_status",
			parameters: "first_key, end_key, status, idle_since, created_since, created_until, limit",
		},
		stThreadsByGraph: {
			name:       "threads_by_graph",
			parameters: "first_key, end_key, graph, idle_since, created_since, created_until, limit",
		},
		stThreadsByGraphStatus: {
			name:       "threads_by_graph_status",
			parameters: "first_key, end_key, graph, status, idle_since, created_since, created_until, limit",
		},
		stThreadsByLabel: {
			name: "threads_by_label",
			parameters: "first_key, end_key, name, value, status, graph, idle_since, created_since, created_until, " +
				"limit",
		},
		stThreadsFewIdle: {
			name:       "threads_few_idle",
			parameters: "first_key, end_key, idle_since, status, graph, created_since, created_until, limit",
		},
		stThreadsFewCreated: {
			name:       "threads_few_created",
			parameters: "first_key, end_key, created_since, created_until, status, graph, idle_since, limit",
		},
		stCountIdle:    {name: "count_idle", parameters: "idle_since"},
		stCountCreated: {name: "count_created", parameters: "created_since, created_until"},
		stReady:        {name: "ready", parameters: "graph, low, limit"},
		stQuestions:    {name: "questions", parameters: "roots"},
		stReadByIndex:  {name: "read_by_index", optional: true},

		stLockThread:   {name: "lock_thread", parameters: "thread_key"},
		stInsertThread: {name: "insert_thread", parameters: "thread_key, thread_id, fence, holder"},
		stUpdateThread: {
			name: "update_thread",
			parameters: "last_version, version, root, versions, status, fence, holder, lease_until, updated, asked, " +
				"created, graph, title, labels, wake, attempts, thread_no",
		},
		stInsertLabel:    {name: "insert_label", parameters: "name, value, thread_key"},
		stRemoveLabel:    {name: "remove_label", parameters: "name, value, thread_key"},
		stRenewLease:     {name: "renew_lease", parameters: "status, lease, thread_key, fence"},
		stEndRun:         {name: "end_run", parameters: "status, wake, thread_key, fence"},
		stEndLease:       {name: "end_lease", parameters: "thread_key, fence"},
		stRewake:         {name: "rewake", parameters: "wake, thread_key, fence"},
		stLockReady:      {name: "lock_ready", parameters: "graph, low, due, limit"},
		stReserve:        {name: "reserve", parameters: "threads, wake"},
		stInsertVersion:  {name: "insert_version", parameters: "thread_no, number, root, status, updated"},
		stReleaseVersion: {name: "release_version", parameters: "status, updated, released, thread_no, number"},
		stPutState:       {name: "put_state", parameters: "thread_no, version, seq, state_json"},
		stInsertLog:      {name: "insert_log", parameters: "thread_no, version, ns_key, ns_name"},
		stInsertLine:     {name: "insert_line", parameters: "root, line_no, line, fingerprint, graph"},
		stInsertRecord: {
			name: "insert_record",
			parameters: "log_no, seq, root, id, line_no, source, snapshot, commits_previous, step, created, parent, " +
				"base, commits, body, payload",
		},
		stMarkCommitted:   {name: "mark_committed", parameters: "root, id"},
		stMarkNextRemoved: {name: "mark_next_removed", parameters: "log_no, seq"},
		stRewriteRecord:   {name: "rewrite_record", parameters: "snapshot, parent, commits, body, payload, log_no, seq"},
		stRemoveRecords:   {name: "remove_records", parameters: "log_no, first, last"},
		stInsertPack: {
			name:       "insert_pack",
			parameters: "log_no, first_seq, last_seq, root, first_id, last_id, records, whole, body",
		},
		stRemovePack:  {name: "remove_pack", parameters: "log_no, last_seq"},
		stMarkPacked:  {name: "mark_packed", parameters: "packed_id, thread_no"},
		stSettle:      {name: "settle", parameters: "settled, log_no"},
		stUnsettle:    {name: "unsettle", parameters: "first, log_no"},
		stRemoveLines: {name: "remove_lines", parameters: "root, first, last, log_no"},
		stCommit: {
			name: "commit",
			parameters: "id, source, snapshot, commits_previous, step, created, body, thread_no, fence, status, " +
				"lease_min, lease_max, log_no, seq, after, payload",
		},
		stPutWriteFenced: {
			name:       "put_write_fenced",
			parameters: "write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max",
		},
		stKeepWriteFenced: {
			name:       "keep_write_fenced",
			parameters: "write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max",
		},
		stPutWrite:  {name: "put_write", parameters: "root, base, write_key, kind, data"},
		stKeepWrite: {name: "keep_write", parameters: "root, base, write_key, kind, data"},
		stPutWrites4: {
			name: "put_writes_4", optional: true,
			parameters: "root, base, write_key, kind, data (4 times)",
		},
		stKeepWrites4: {
			name: "keep_writes_4", optional: true,
			parameters: "root, base, write_key, kind, data (4 times)",
		},
		stPutWrites16: {
			name: "put_writes_16", optional: true,
			parameters: "root, base, write_key, kind, data (16 times)",
		},
		stKeepWrites16: {
			name: "keep_writes_16", optional: true,
			parameters: "root, base, write_key, kind, data (16 times)",
		},
		stDiscardWrite:         {name: "discard_write", parameters: "root, base, result_key, failure_key"},
		stRemoveBaseWrites:     {name: "remove_base_writes", parameters: "root, base"},
		stSweepWrites:          {name: "sweep_writes", parameters: "root"},
		stRemoveVersionWrites:  {name: "remove_version_writes", parameters: "root"},
		stRemoveVersionRecords: {name: "remove_version_records", parameters: "root"},
		stRemoveVersionPacks:   {name: "remove_version_packs", parameters: "root"},
		stRemoveVersionLines:   {name: "remove_version_lines", parameters: "root"},
		stRemoveVersionLogs:    {name: "remove_version_logs", parameters: "thread_no, version"},
		stRemoveVersionState:   {name: "remove_version_state", parameters: "thread_no, version"},
		stRemoveVersion:        {name: "remove_version", parameters: "thread_no, number"},
		stDeleteWrites:         {name: "delete_writes", parameters: "thread_no"},
		stDeleteRecords:        {name: "delete_records", parameters: "thread_no"},
		stDeletePacks:          {name: "delete_packs", parameters: "thread_no"},
		stDeleteLines:          {name: "delete_lines", parameters: "thread_no"},
		stDeleteLogs:           {name: "delete_logs", parameters: "thread_no"},
		stDeleteState:          {name: "delete_state", parameters: "thread_no"},
		stDeleteVersions:       {name: "delete_versions", parameters: "thread_no"},
		stDeleteThread:         {name: "delete_thread", parameters: "thread_no"},

		stStoreGet:         {name: "store_get", parameters: "namespace, item_key"},
		stStoreFind:        {name: "store_find", parameters: "end_namespace, after_namespace, after_key, limit"},
		stStoreNamespace:   {name: "store_namespace", parameters: "first_namespace, end_namespace"},
		stStoreVectors:     {name: "store_vectors", parameters: "namespace, item_key"},
		stStoreSearch:      {name: "store_search", parameters: "first_namespace, end_namespace, name, limit"},
		stStoreDeclared:    {name: "store_declared", parameters: "name"},
		stStoreNow:         {name: "store_now", optional: true},
		stStoreLock:        {name: "store_lock", parameters: "namespace, item_key"},
		stStoreInsert:      {name: "store_insert", parameters: "namespace, item_key, version, created, updated, expires, ttl, entries, value"},
		stStoreUpdate:      {name: "store_update", parameters: "version, created, updated, expires, ttl, entries, value, namespace, item_key"},
		stStoreTouch:       {name: "store_touch", parameters: "expires, entries, namespace, item_key"},
		stStoreInsertEntry: {name: "store_insert_entry", parameters: "name, namespace, value, item_key"},
		stStoreRemoveEntry: {name: "store_remove_entry", parameters: "name, namespace, value, item_key"},
		stStorePutVector:   {name: "store_put_vector", parameters: "namespace, item_key, part, name, hash, vec"},
		stStoreDropVector:  {name: "store_drop_vector", parameters: "namespace, item_key, part"},
		stStoreDeclare:     {name: "store_declare", parameters: "name, model, dims"},
		stStoreUsed:        {name: "store_used", parameters: "namespace, item_key, once_key"},
		stStoreUse:         {name: "store_use", parameters: "namespace, item_key, once_key, version, used"},
		stStoreExpired:     {name: "store_expired", parameters: "limit"},
		stStorePurge:       {name: "store_purge", parameters: "before, limit"},
		stStoreForget:      {name: "store_forget", parameters: "age, limit"},

		stHasSchema:           {name: "has_schema"},
		stSchemaVersion:       {name: "schema_version"},
		stInsertSchemaVersion: {name: "insert_schema_version", parameters: "version"},
		stLockSchema:          {name: "lock_schema", optional: true},
		stUnlockSchema:        {name: "unlock_schema", optional: true},
		stDropTables:          {name: "drop_tables", optional: true},
		stDropFunctions:       {name: "drop_functions", optional: true},
	}
}

// query is a statement as a dialect has it.
type query struct {
	text  string // empty if the dialect lacks it
	order []int  // the argument of each value that text binds; nil if they are the arguments in order
}

// bind returns the values to bind for the arguments of a call.
func (q *query) bind(args []any) []any {
	if q.order == nil {
		return args
	}
	values := make([]any, len(q.order))
	for i, n := range q.order {
		values[i] = args[n]
	}
	return values
}

// load reads the statements of a dialect. The error names every statement that is missing, unknown
// or there twice, or whose parameters are not those that the program binds.
func load(folder fs.FS) (all [statements]query, err error) {
	queries, err := Queries(folder)
	if err != nil {
		return all, err
	}
	byName := make(map[string]*Query, len(queries))
	var errs []error
	for i := range queries {
		q := &queries[i]
		if byName[q.Name] != nil {
			errs = append(errs, fmt.Errorf("%s: there are two statements of this name", q.Name))
		}
		byName[q.Name] = q
	}
	for st, want := range signatures() {
		q := byName[want.name]
		delete(byName, want.name)
		switch {
		case q != nil:
			all[st], err = q.as(nameList(want.parameters))
			errs = append(errs, err)
		case !want.optional:
			errs = append(errs, fmt.Errorf("%s: there is no such statement", want.name))
		}
	}
	for name := range byName {
		errs = append(errs, fmt.Errorf("%s: the program has no use for this statement", name))
	}
	return all, errors.Join(errs...)
}

// as returns q for a program that binds these parameters.
func (q *Query) as(parameters []string) (query, error) {
	if slices.Equal(q.Parameters, parameters) {
		return query{text: q.Text}, nil
	}
	order := make([]int, len(q.Parameters))
	used := make(map[int]bool)
	for i, name := range q.Parameters {
		order[i] = slices.Index(parameters, name)
		used[order[i]] = true
	}
	if used[-1] || len(used) < len(parameters) {
		return query{}, fmt.Errorf("%s: it has the parameters %q, and the program binds %q", q.Name, q.Parameters, parameters)
	}
	return query{text: q.Text, order: order}, nil
}
