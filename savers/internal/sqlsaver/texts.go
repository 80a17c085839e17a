package sqlsaver

// statement names a statement of a saver.
type statement int

// The statements that only read.
const (
	stThread statement = iota
	stVersion
	stRecord
	stHead
	stHeadChain
	stSnapshotBefore
	stLines
	stBase
	stCommitted
	stNamespace
	stNamespaces
	stWrites
	stHistory
	stRange
	stLog
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
	stQuestionsStatus
	stQuestionsFew
	stVersions
	stCountRoot
	reads // how many there are
)

// The statements that write, or lock what is going to be written.
const (
	stLockThread = reads + iota
	stCommit
	stInsertThread
	stInsertVersion
	stInsertLog
	stInsertLine
	stInsertRecord
	stUpdateThread
	stRenew
	stEnd
	stEndLease
	stMarkCommitted
	stMarkFollowed
	stDropBase
	stPutWrite
	stKeepWrite
	stPutOne
	stKeepOne
	stDiscard
	stSweep
	stLastReleased
	stIDs
	stReleaseVersion
	stSnapshot
	stRemove
	stPutState
	stDropVersionWrites
	stDropVersionRecords
	stDropVersionLines
	stDropVersionLogs
	stDropVersionState
	stDropVersion
	stDeleteWrites
	stDeleteRecords
	stDeleteLines
	stDeleteLogs
	stDeleteState
	stDeleteVersions
	stDeleteThread

	statements // how many there are
)

// Values are bound to ? in order; @4 is the fourth once more, which a dialect without numbers binds once more at its place.
// Statements are written with {names} for what dialects say in their own ways: Dialect has the values, and forms those
// that take words. A record is found by the number of its log and its seq, and by {root} and id.

// forms are how statements refer to the keys of graph_checkpoint, where no dialect has another way.
var forms = map[string]string{
	"same":   "%[1]s = %[2]s",                                              // an id and another one
	"log":    "%[1]s.log_no = %[2]s",                                       // rows of a log
	"range":  "%[1]s.log_no = %[2]s AND %[1]s.seq BETWEEN %[3]s AND %[4]s", // rows of a log, from a seq to another
	"newest": "%[1]s.log_no = %[2]s AND %[1]s.seq = (SELECT MAX(x.seq) FROM graph_checkpoint x WHERE x.log_no = %[3]s)",
	"next":   "%[1]s.log_no = %[2]s.log_no AND %[1]s.seq = %[2]s.seq + 1", // the row after another
	"at":     "%[1]s.log_no = %[2]s AND %[1]s.seq = %[3]s",                // a row
	"log_no": "%[1]s.log_no",                                              // of a row
	"seq":    "%[1]s.seq",                                                 // of a row
	"order":  "%[1]s.seq",                                                 // of rows of a log
	"key":    "log_no, seq",                                               // the columns
	"place":  "%[1]s, %[2]s",                                              // their values
	"after":  "%[1]s.log_no, %[1]s.seq + 1",                               // those of the row after another
	"made":   "",                                                          // ends an INSERT that gives its row a number
	"drop":   "DELETE FROM %[1]s WHERE root IN (SELECT root FROM graph_version WHERE thread_no = %[2]s)",
}

// recordColumns are those that scanRecord reads, of a row c of graph_checkpoint.
const recordColumns = `SELECT {seq c}, c.id, c.line_no, c.flags, c.step, c.created, c.parent, c.base, c.commits, c.body
FROM graph_checkpoint c
`

// deadBase finds the base b of a pending write in graph_write when it has been committed: it says so itself, or the
// record after it does.
const deadBase = `EXISTS (SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON {next n b}
WHERE b.root = graph_write.root AND {same b.id graph_write.base} AND ((b.flags & 128) <> 0 OR (n.flags & 32) <> 0))`

const threadColumns = `SELECT thread_no, thread_id, last_version, version, root, versions, status, fence, holder, lease_until, updated, asked, {now}
FROM graph_thread WHERE thread_key = ?`

// A head is read with its line. To put it in order and take the first, MariaDB would make a table on the disk.
const (
	headColumns = "SELECT {seq c}, c.id, c.step, l.line_no, l.line, l.fingerprint, l.graph"
	headFrom    = ` FROM graph_checkpoint c {then} graph_line l ON l.root = c.root AND l.line_no = c.line_no WHERE {newest c ? ?}`
)

// A commit stores one record after the head that its run knows, when the run holds the fence, the thread's row need
// not change, and the head is there. When another record is after it, that has the key, or has gone and left a flag. A look
// at what is newer would say the same, but makes MySQL and MariaDB put the new row in a temporary table on the disk first.
// Otherwise it stores nothing, and a transaction finds out why.
const commitText = `INSERT INTO graph_checkpoint ({key}, root, id, line_no, flags, step, created, body)
SELECT {after h}, h.root, {bytes}, h.line_no, {number}, {number}, {number}, {bytes}
FROM graph_thread t {then} graph_checkpoint h ON h.root = t.root
WHERE t.thread_no = ? AND t.fence = ? AND t.status = COALESCE({number}, t.status)
AND (t.lease_until = 0 OR t.lease_until - {now} BETWEEN {number} AND {number})
AND {at h ? ?} AND {same h.id ?} AND h.base IS NULL AND (h.flags & 64) = 0 {share}`

// nextRecord finds a record c by its id, and the one after it, n.
const nextRecord = "LEFT JOIN graph_checkpoint n ON {next n c} WHERE c.root = ? AND {same c.id ?}"

// A write of a run whose thread's row need not change is stored by one statement likewise.
const putText = `INSERT INTO graph_write (root, write_key, kind, data, base)
SELECT t.root, {bytes}, {number}, {bytes}, {bytes} FROM graph_thread t
WHERE t.thread_key = ? AND t.fence = ? AND t.status = COALESCE({number}, t.status) AND t.asked >= {number}
AND (t.lease_until = 0 OR t.lease_until - {now} BETWEEN {number} AND {number})
AND NOT EXISTS (SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON {next n b}
	WHERE b.root = t.root AND {same b.id @4} AND ((b.flags & 128) <> 0 OR (n.flags & 32) <> 0))
{share} `

// A thread is listed from its own row; of its checkpoints only the head's id and step are read, by key.
const (
	listSelect = `SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked, {now},
(SELECT h.id FROM graph_checkpoint h WHERE {log h t.root} ORDER BY {order h} DESC LIMIT 1),
(SELECT h.step FROM graph_checkpoint h WHERE {log h t.root} ORDER BY {order h} DESC LIMIT 1)
FROM `
	listText   = listSelect + "graph_thread t WHERE t.thread_key >= ? AND t.thread_key < ? AND t.version > 0\n"
	listEnd    = "ORDER BY t.thread_key LIMIT ?"
	withStatus = "AND t.status = ? "
	whenIdle   = "AND t.updated < ? AND t.lease_until <= {now} "

	// Few threads that are idle are found by the time of their last run, and put in order.
	few     = "(SELECT * FROM graph_thread WHERE updated < ? ORDER BY updated LIMIT 2000) t "
	listFew = listSelect + few + `WHERE t.thread_key >= ? AND t.thread_key < ? AND t.version > 0
AND t.status = COALESCE({number}, t.status) AND t.lease_until <= {now} ORDER BY t.thread_key LIMIT ?`
	countIdle = "SELECT COUNT(*) FROM (SELECT 1 AS one FROM graph_thread WHERE updated < ? LIMIT 1000) few"

	// The questions of a page are found from its threads, by the index that found these: between the first and the last
	// may be very many that the page has not.
	questions = "SELECT t.thread_key, graph_write.data FROM "
	askedIn   = `{then} graph_write ON graph_write.root = t.root
WHERE t.thread_key >= ? AND t.thread_key <= ? AND t.version > 0 AND t.asked = 1 AND graph_write.kind IN (2, 3) AND NOT {dead}
`
	inOrder = "ORDER BY graph_write.write_no"
)

const inVersion = "WHERE thread_no = ? AND version = ? "

// texts returns the statements, before a dialect has made them its own.
func texts() [statements]string {
	return [...]string{
		stThread:  threadColumns,
		stVersion: "SELECT root, status, updated, released FROM graph_version WHERE thread_no = ? AND number = ?",
		stRecord:  "SELECT {log_no c}, {seq c} FROM graph_checkpoint c WHERE c.root = ? AND {same c.id ?}",
		stHead:    headColumns + headFrom,
		stHeadChain: headColumns + `, (SELECT {seq s} FROM graph_checkpoint s WHERE {log s ?} AND (s.flags & 8) <> 0 ORDER BY {order s} DESC LIMIT 1)
` + headFrom,
		stSnapshotBefore:  "SELECT {seq c} FROM graph_checkpoint c WHERE {range c ? 0 ?} AND (c.flags & 8) <> 0 ORDER BY {order c} DESC LIMIT 1",
		stLines:           "SELECT line_no, line, fingerprint, graph FROM graph_line WHERE root = ? AND line_no BETWEEN ? AND ?",
		stCommitted:       "SELECT c.flags, n.flags FROM graph_checkpoint c " + nextRecord,
		stBase:            "SELECT {log_no c}, {seq c}, c.flags, n.flags FROM graph_checkpoint c " + nextRecord,
		stNamespace:       "SELECT log_no FROM graph_log " + inVersion + "AND ns_key = ?",
		stNamespaces:      "SELECT log_no, ns_key, ns_name FROM graph_log " + inVersion,
		stWrites:          "SELECT CASE WHEN {dead} THEN NULL ELSE data END FROM graph_write WHERE root = ? ORDER BY write_no",
		stRange:           recordColumns + "WHERE {range c ? ? ?} ORDER BY {order c}",
		stHistory:         recordColumns + "WHERE {range c ? 0 ?} ORDER BY {order c} DESC LIMIT ?",
		stLog:             recordColumns + "WHERE {log c ?} ORDER BY {order c}",
		stRoot:            "SELECT c.id, c.step FROM graph_checkpoint c WHERE {log c ?} ORDER BY {order c} DESC LIMIT 1",
		stHeaders:         "SELECT {seq c}, c.id, c.flags, c.created, COALESCE(c.base, c.id) FROM graph_checkpoint c WHERE {log c ?} ORDER BY {order c}",
		stNumbers:         "SELECT number, root FROM graph_version WHERE thread_no = ? AND released > 0 ORDER BY number",
		stListThreads:     listText + listEnd,
		stListStatus:      listText + withStatus + listEnd,
		stListIdle:        listText + whenIdle + listEnd,
		stListStatusIdle:  listText + withStatus + whenIdle + listEnd,
		stListFew:         listFew,
		stCountIdle:       countIdle,
		stQuestions:       questions + "graph_thread t " + askedIn + inOrder,
		stQuestionsStatus: questions + "graph_thread t " + askedIn + withStatus + inOrder,
		stQuestionsFew:    questions + few + askedIn + inOrder,
		stVersions: `SELECT v.number, CASE WHEN v.number = t.version THEN t.status ELSE v.status END, v.released,
(SELECT COUNT(*) FROM graph_checkpoint c WHERE {log c v.root}),
(SELECT c.id FROM graph_checkpoint c WHERE {log c v.root} ORDER BY {order c} DESC LIMIT 1)
FROM graph_thread t JOIN graph_version v ON v.thread_no = t.thread_no WHERE t.thread_key = ? ORDER BY v.number`,
		stCountRoot: "SELECT COUNT(*) FROM graph_checkpoint c WHERE {log c ?}",

		stLockThread: threadColumns + " {lock}",
		stCommit:     commitText,
		stInsertThread: `INSERT INTO graph_thread (thread_key, thread_id, last_version, version, root, versions, status, fence, holder, lease_until, updated, asked)
VALUES (?, ?, 0, 0, 0, 0, 0, ?, ?, 0, 0, 0)`,
		stInsertVersion: "INSERT INTO graph_version (thread_no, number, root, status, updated, released) VALUES (?, ?, ?, ?, ?, 0)",
		stInsertLog:     "INSERT INTO graph_log (thread_no, version, ns_key, ns_name) VALUES (?, ?, ?, ?){made log_no}",
		stInsertLine:    "INSERT INTO graph_line (root, line_no, line, fingerprint, graph) VALUES (?, ?, ?, ?, ?)",
		stInsertRecord: `INSERT INTO graph_checkpoint ({key}, root, id, line_no, flags, step, created, parent, base, commits, body)
VALUES ({place ? ?}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stUpdateThread: `UPDATE graph_thread SET last_version = ?, version = ?, root = ?, versions = ?, status = ?, fence = ?, holder = ?, lease_until = ?, updated = ?, asked = ?
WHERE thread_no = ?`,
		stRenew: `UPDATE graph_thread SET status = COALESCE({number}, status),
lease_until = CASE WHEN lease_until = 0 THEN 0 ELSE {now} + {number} END WHERE thread_key = ? AND fence = ? AND version > 0`,
		stEnd:            "UPDATE graph_thread SET status = COALESCE({number}, status), lease_until = 0, updated = {now} WHERE thread_key = ? AND fence = ? AND version > 0",
		stEndLease:       "UPDATE graph_thread SET lease_until = 0, updated = {now} WHERE thread_key = ? AND fence = ?",
		stDropBase:       "DELETE FROM graph_write WHERE root = ? AND base = ?",
		stMarkCommitted:  "UPDATE graph_checkpoint SET flags = flags | 128 WHERE root = ? AND {same id ?}",
		stMarkFollowed:   "UPDATE graph_checkpoint SET flags = flags | 64 WHERE {at graph_checkpoint ? ?}",
		stPutWrite:       "INSERT INTO graph_write (root, base, write_key, kind, data) VALUES (?, ?, ?, ?, ?) {replace}",
		stKeepWrite:      "INSERT INTO graph_write (root, base, write_key, kind, data) VALUES (?, ?, ?, ?, ?) {skip}",
		stPutOne:         putText + "{replace}",
		stKeepOne:        putText + "{skip}",
		stDiscard:        "DELETE FROM graph_write WHERE root = ? AND base = ? AND write_key IN (?, ?)",
		stSweep:          "DELETE FROM graph_write WHERE root = ? AND {dead}",
		stLastReleased:   "SELECT number, root FROM graph_version WHERE thread_no = ? AND released > 0 ORDER BY number DESC LIMIT 1",
		stIDs:            "SELECT c.id, {seq c} FROM graph_checkpoint c WHERE {range c ? ? ?}",
		stReleaseVersion: "UPDATE graph_version SET status = ?, updated = ?, released = ? WHERE thread_no = ? AND number = ?",
		stSnapshot:       "UPDATE graph_checkpoint SET flags = ?, parent = ?, commits = ?, body = ? WHERE {at graph_checkpoint ? ?}",
		stRemove:         "DELETE FROM graph_checkpoint WHERE {range graph_checkpoint ? ? ?}",
		stPutState:       "INSERT INTO graph_state (thread_no, version, seq, state_json) VALUES (?, ?, ?, ?) {state}",

		stDropVersionWrites:  "DELETE FROM graph_write WHERE root = ?",
		stDropVersionRecords: "DELETE FROM graph_checkpoint WHERE root = ?",
		stDropVersionLines:   "DELETE FROM graph_line WHERE root = ?",
		stDropVersionLogs:    "DELETE FROM graph_log WHERE thread_no = ? AND version = ?",
		stDropVersionState:   "DELETE FROM graph_state WHERE thread_no = ? AND version = ?",
		stDropVersion:        "DELETE FROM graph_version WHERE thread_no = ? AND number = ?",
		stDeleteWrites:       "{drop graph_write ?}",
		stDeleteRecords:      "{drop graph_checkpoint ?}",
		stDeleteLines:        "{drop graph_line ?}",
		stDeleteLogs:         "DELETE FROM graph_log WHERE thread_no = ?",
		stDeleteState:        "DELETE FROM graph_state WHERE thread_no = ?",
		stDeleteVersions:     "DELETE FROM graph_version WHERE thread_no = ?",
		stDeleteThread:       "DELETE FROM graph_thread WHERE thread_no = ?",
	}
}
