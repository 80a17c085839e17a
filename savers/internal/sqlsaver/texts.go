package sqlsaver

// statement names a statement of a saver.
type statement int

// The statements that only read.
const (
	stThread statement = iota
	stVersion
	stRecord
	stHead
	stBase
	stCommitted
	stNamespace
	stNamespaces
	stWrites
	stChain
	stHistory
	stRange
	stLog
	stLastNamespace
	stRoot
	stHeaders
	stNumbers
	stListThreads
	stListStatus
	stListIdle
	stListStatusIdle
	stListFew
	stCountIdle
	stQuestions
	stVersions
	stCountRoot
	reads // how many there are
)

// The statements that write, or lock what is going to be written.
const (
	stLockThread = reads + iota
	stCommitRoot
	stCommitChild
	stInsertThread
	stInsertVersion
	stInsertNamespace
	stInsertLine
	stInsertRecord
	stUpdateThread
	stRenew
	stEndLease
	stMarkCommitted
	stDropBase
	stPutWrite
	stKeepWrite
	stPutOne
	stKeepOne
	stDiscard
	stSweep
	stLastReleased
	stFollowing
	stPreceding
	stReleaseVersion
	stSnapshot
	stRemove
	stPutState
	stDropVersionWrites
	stDropVersionRecords
	stDropVersionLines
	stDropVersionNamespaces
	stDropVersionState
	stDropVersion
	stDeleteWrites
	stDeleteRecords
	stDeleteLines
	stDeleteNamespaces
	stDeleteState
	stDeleteVersions
	stDeleteThread

	statements // how many there are
)

// recordColumns are those that scanRecord reads, of a row c of graph_checkpoint, its line l, and the row before, p.
const recordColumns = `SELECT c.seq, c.id, c.flags, c.step, c.created, c.parent, c.base, c.commits, c.body, p.id, l.line, l.fingerprint, l.graph
FROM graph_checkpoint c
JOIN graph_line l ON l.thread_no = c.thread_no AND l.version = c.version AND l.line_no = c.line_no
{preceding}
`

// preceding joins the row before, where the dialect has no other way.
const preceding = "LEFT JOIN graph_checkpoint p ON p.thread_no = c.thread_no AND p.version = c.version AND p.ns_no = c.ns_no AND p.seq = c.seq - 1"

// deadBase finds the base b of a pending write in graph_write when it has been committed: it says so itself, or the
// record after it does.
const deadBase = `EXISTS (SELECT 1 FROM graph_checkpoint b
LEFT JOIN graph_checkpoint n ON n.thread_no = b.thread_no AND n.version = b.version AND n.ns_no = b.ns_no AND n.seq = b.seq + 1
WHERE b.thread_no = graph_write.thread_no AND b.version = graph_write.version AND b.id = graph_write.base
AND ((b.flags & 128) <> 0 OR (n.flags & 32) <> 0))`

const threadColumns = `SELECT thread_no, thread_id, last_version, version, versions, status, fence, holder, lease_until, updated, asked, {now}
FROM graph_thread WHERE thread_key = ?`

// A commit stores one record after the head that its run knows, when the run holds the fence, the thread's row need
// not change, and all but the row itself is as it is for the head. Otherwise it stores nothing, and a transaction
// finds out why.
const commitText = `INSERT INTO graph_checkpoint
(thread_no, version, ns_no, seq, id, line_no, flags, step, created, body)
SELECT h.thread_no, h.version, h.ns_no, {seq}, {bytes}, h.line_no, {number}, {number}, {number}, {bytes}
FROM graph_thread t
JOIN graph_checkpoint h ON h.thread_no = t.thread_no AND h.version = t.version AND h.id = ?
JOIN graph_line l ON l.thread_no = h.thread_no AND l.version = h.version AND l.line_no = h.line_no
WHERE t.thread_key = ? AND t.fence = ? AND t.status = COALESCE({number}, t.status)
AND (t.lease_until = 0 OR t.lease_until BETWEEN {now} + {number} AND {now} + {number})
AND l.line = ? AND l.fingerprint = ? AND l.graph = ? AND h.base IS NULL
AND NOT EXISTS (SELECT 1 FROM graph_checkpoint x
	WHERE x.thread_no = h.thread_no AND x.version = h.version AND x.ns_no = h.ns_no AND x.seq > h.seq)
`

const (
	inRoot  = "AND h.ns_no = 0 {share}{stored}"
	inChild = `AND h.ns_no = (SELECT n.ns_no FROM graph_namespace n
	WHERE n.thread_no = h.thread_no AND n.version = h.version AND n.ns_key = ?) {share}{stored}`
)

// nextRecord finds a record c by its id, and the one after it, n.
const nextRecord = `LEFT JOIN graph_checkpoint n ON n.thread_no = c.thread_no AND n.version = c.version AND n.ns_no = c.ns_no AND n.seq = c.seq + 1
WHERE c.thread_no = ? AND c.version = ? AND c.id = ?`

// A write of a run whose thread's row need not change is stored by one statement likewise.
const putText = `INSERT INTO graph_write (thread_no, version, base, write_key, kind, data)
SELECT t.thread_no, t.version, w.base, {bytes}, {number}, {bytes}
FROM graph_thread t JOIN (SELECT {bytes} AS base) w
WHERE t.thread_key = ? AND t.fence = ? AND t.status = COALESCE({number}, t.status) AND t.asked >= {number}
AND (t.lease_until = 0 OR t.lease_until BETWEEN {now} + {number} AND {now} + {number})
AND NOT EXISTS (SELECT 1 FROM graph_checkpoint b
	LEFT JOIN graph_checkpoint n ON n.thread_no = b.thread_no AND n.version = b.version AND n.ns_no = b.ns_no AND n.seq = b.seq + 1
	WHERE b.thread_no = t.thread_no AND b.version = t.version AND b.id = w.base AND ((b.flags & 128) <> 0 OR (n.flags & 32) <> 0))
{share} `

// A thread is listed from its own row; of its checkpoints only the head's id and step are read, by key.
const (
	listSelect = `SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked, {now},
(SELECT h.id FROM graph_checkpoint h WHERE h.thread_no = t.thread_no AND h.version = t.version AND h.ns_no = 0 ORDER BY h.seq DESC LIMIT 1),
(SELECT h.step FROM graph_checkpoint h WHERE h.thread_no = t.thread_no AND h.version = t.version AND h.ns_no = 0 ORDER BY h.seq DESC LIMIT 1)
FROM `
	listText   = listSelect + "graph_thread t WHERE t.thread_key >= ? AND t.thread_key < ? AND t.version > 0\n"
	listEnd    = "ORDER BY t.thread_key LIMIT ?"
	withStatus = "AND t.status = ? "
	whenIdle   = "AND t.updated < ? AND t.lease_until <= {now} "

	// Few threads that are idle are found by the time of their last run, and put in order.
	listFew = listSelect + `(SELECT * FROM graph_thread WHERE updated < ? ORDER BY updated LIMIT 2000) t
WHERE t.thread_key >= ? AND t.thread_key < ? AND t.version > 0
AND t.status = COALESCE({number}, t.status) AND t.lease_until <= {now} ORDER BY t.thread_key LIMIT ?`
	countIdle = "SELECT COUNT(*) FROM (SELECT 1 AS one FROM graph_thread WHERE updated < ? LIMIT 1000) few"
)

const inVersion = "WHERE thread_no = ? AND version = ? "

// texts returns the statements, before a dialect has made them its own.
func texts() [statements]string {
	return [...]string{
		stThread:  threadColumns,
		stVersion: "SELECT status, updated, released FROM graph_version WHERE thread_no = ? AND number = ?",
		stRecord:  "SELECT ns_no, seq FROM graph_checkpoint " + inVersion + "AND id = ?",
		stHead: `SELECT c.seq, c.id, c.step, l.line_no, l.line, l.fingerprint, l.graph FROM graph_checkpoint c
JOIN graph_line l ON l.thread_no = c.thread_no AND l.version = c.version AND l.line_no = c.line_no
WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? ORDER BY c.seq DESC LIMIT 1`,
		stCommitted:  "SELECT c.flags, n.flags FROM graph_checkpoint c " + nextRecord,
		stBase:       "SELECT c.ns_no, c.flags, n.flags, c.body FROM graph_checkpoint c " + nextRecord,
		stNamespace:  "SELECT ns_no FROM graph_namespace " + inVersion + "AND ns_key = ?",
		stNamespaces: "SELECT ns_no, ns_key, ns_name FROM graph_namespace " + inVersion,
		stWrites:     "SELECT CASE WHEN {dead} THEN NULL ELSE data END FROM graph_write " + inVersion + "ORDER BY write_no",
		stChain: `{record}WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? AND c.seq <= ? AND c.seq >= (
	SELECT s.seq FROM graph_checkpoint s WHERE s.thread_no = ? AND s.version = ? AND s.ns_no = ? AND s.seq <= ? AND (s.flags & 8) <> 0
	ORDER BY s.seq DESC LIMIT 1) ORDER BY c.seq`,
		stRange:         "{record}WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? AND c.seq BETWEEN ? AND ? ORDER BY c.seq",
		stHistory:       "{record}WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? AND c.seq < ? ORDER BY c.seq DESC LIMIT ?",
		stLog:           "{record}WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? ORDER BY c.seq",
		stLastNamespace: "SELECT ns_no FROM graph_namespace " + inVersion + "ORDER BY ns_no DESC LIMIT 1",
		stRoot:          "SELECT id, step FROM graph_checkpoint " + inVersion + "AND ns_no = 0 ORDER BY seq DESC LIMIT 1",
		stHeaders: `SELECT c.seq, c.id, c.flags, c.created, COALESCE(c.base, c.id) FROM graph_checkpoint c
WHERE c.thread_no = ? AND c.version = ? AND c.ns_no = ? ORDER BY c.seq`,
		stNumbers:        "SELECT number FROM graph_version WHERE thread_no = ? AND released > 0 ORDER BY number",
		stListThreads:    listText + listEnd,
		stListStatus:     listText + withStatus + listEnd,
		stListIdle:       listText + whenIdle + listEnd,
		stListStatusIdle: listText + withStatus + whenIdle + listEnd,
		stListFew:        listFew,
		stCountIdle:      countIdle,
		stQuestions: `SELECT t.thread_key, graph_write.data FROM graph_thread t
{then} graph_write ON graph_write.thread_no = t.thread_no AND graph_write.version = t.version
WHERE t.thread_key >= ? AND t.thread_key <= ? AND t.version > 0 AND t.asked = 1 AND graph_write.kind IN (2, 3) AND NOT {dead}
ORDER BY graph_write.write_no`,
		stVersions: `SELECT v.number, CASE WHEN v.number = t.version THEN t.status ELSE v.status END, v.released,
(SELECT COUNT(*) FROM graph_checkpoint c WHERE c.thread_no = v.thread_no AND c.version = v.number AND c.ns_no = 0),
(SELECT c.id FROM graph_checkpoint c WHERE c.thread_no = v.thread_no AND c.version = v.number AND c.ns_no = 0 ORDER BY c.seq DESC LIMIT 1)
FROM graph_thread t JOIN graph_version v ON v.thread_no = t.thread_no WHERE t.thread_key = ? ORDER BY v.number`,
		stCountRoot: "SELECT COUNT(*) FROM graph_checkpoint " + inVersion + "AND ns_no = 0",

		stLockThread:  threadColumns + " {lock}",
		stCommitRoot:  commitText + inRoot,
		stCommitChild: commitText + inChild,
		stInsertThread: `INSERT INTO graph_thread (thread_key, thread_id, last_version, version, versions, status, fence, holder, lease_until, updated, asked)
VALUES (?, ?, 0, 0, 0, 0, ?, ?, 0, 0, 0)`,
		stInsertVersion:   "INSERT INTO graph_version (thread_no, number, status, updated, released) VALUES (?, ?, ?, ?, 0)",
		stInsertNamespace: "INSERT INTO graph_namespace (thread_no, version, ns_no, ns_key, ns_name) VALUES (?, ?, ?, ?, ?)",
		stInsertLine:      "INSERT INTO graph_line (thread_no, version, line_no, line, fingerprint, graph) VALUES (?, ?, ?, ?, ?, ?)",
		stInsertRecord: `INSERT INTO graph_checkpoint (thread_no, version, ns_no, seq, id, line_no, flags, step, created, parent, base, commits, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stUpdateThread: `UPDATE graph_thread SET last_version = ?, version = ?, versions = ?, status = ?, fence = ?, holder = ?, lease_until = ?, updated = ?, asked = ?
WHERE thread_no = ?`,
		stRenew: `UPDATE graph_thread SET status = COALESCE({number}, status),
lease_until = CASE WHEN lease_until = 0 THEN 0 ELSE {now} + {number} END WHERE thread_key = ? AND fence = ? AND version > 0`,
		stEndLease:       "UPDATE graph_thread SET lease_until = 0, updated = {now} WHERE thread_key = ? AND fence = ?",
		stDropBase:       "DELETE FROM graph_write " + inVersion + "AND base = ?",
		stMarkCommitted:  "UPDATE graph_checkpoint SET flags = flags | 128 " + inVersion + "AND id = ?",
		stPutWrite:       `INSERT INTO graph_write (thread_no, version, base, write_key, kind, data) VALUES (?, ?, ?, ?, ?, ?) {replace}`,
		stKeepWrite:      `INSERT INTO graph_write (thread_no, version, base, write_key, kind, data) VALUES (?, ?, ?, ?, ?, ?) {skip}`,
		stPutOne:         putText + "{replace}",
		stKeepOne:        putText + "{skip}",
		stDiscard:        "DELETE FROM graph_write " + inVersion + "AND base = ? AND write_key IN (?, ?)",
		stSweep:          "DELETE FROM graph_write " + inVersion + "AND {dead}",
		stLastReleased:   "SELECT number FROM graph_version WHERE thread_no = ? AND released > 0 ORDER BY number DESC LIMIT 1",
		stFollowing:      "SELECT id, seq FROM graph_checkpoint " + inVersion + "AND ns_no = ? AND seq >= ? ORDER BY seq LIMIT ?",
		stPreceding:      "SELECT id FROM graph_checkpoint " + inVersion + "AND ns_no = ? AND seq < ? ORDER BY seq DESC LIMIT 1",
		stReleaseVersion: "UPDATE graph_version SET status = ?, updated = ?, released = ? WHERE thread_no = ? AND number = ?",
		stSnapshot:       "UPDATE graph_checkpoint SET flags = ?, parent = ?, commits = ?, body = ? " + inVersion + "AND ns_no = ? AND seq = ?",
		stRemove:         "DELETE FROM graph_checkpoint " + inVersion + "AND ns_no = ? AND seq BETWEEN ? AND ?",
		stPutState:       "INSERT INTO graph_state (thread_no, version, seq, state_json) VALUES (?, ?, ?, ?) {state}",

		stDropVersionWrites:     "DELETE FROM graph_write WHERE thread_no = ? AND version = ?",
		stDropVersionRecords:    "DELETE FROM graph_checkpoint WHERE thread_no = ? AND version = ?",
		stDropVersionLines:      "DELETE FROM graph_line WHERE thread_no = ? AND version = ?",
		stDropVersionNamespaces: "DELETE FROM graph_namespace WHERE thread_no = ? AND version = ?",
		stDropVersionState:      "DELETE FROM graph_state WHERE thread_no = ? AND version = ?",
		stDropVersion:           "DELETE FROM graph_version WHERE thread_no = ? AND number = ?",
		stDeleteWrites:          "DELETE FROM graph_write WHERE thread_no = ?",
		stDeleteRecords:         "DELETE FROM graph_checkpoint WHERE thread_no = ?",
		stDeleteLines:           "DELETE FROM graph_line WHERE thread_no = ?",
		stDeleteNamespaces:      "DELETE FROM graph_namespace WHERE thread_no = ?",
		stDeleteState:           "DELETE FROM graph_state WHERE thread_no = ?",
		stDeleteVersions:        "DELETE FROM graph_version WHERE thread_no = ?",
		stDeleteThread:          "DELETE FROM graph_thread WHERE thread_no = ?",
	}
}
