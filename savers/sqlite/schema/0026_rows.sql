-- The tables of a saver. They keep rows, as the contract of package savers/rows says. pk is the key
-- of a row, and data its value, which ends with a checksum. Times are microseconds since 1970, in
-- UTC. A saver reads only pk, rev and data; the other columns are for people.

CREATE TABLE graph_schema (
	version INTEGER NOT NULL PRIMARY KEY
);

-- The threads. pk is the id.
CREATE TABLE graph_thread (
	pk      BLOB    NOT NULL PRIMARY KEY,
	rev     INTEGER NOT NULL, -- the revision: each change of the row gives it another one
	data    BLOB    NOT NULL,
	graph   TEXT    NOT NULL, -- the name of the graph that opened the newest run
	title   TEXT    NOT NULL,
	version INTEGER NOT NULL, -- the open version; 0 when there is none
	status  INTEGER NOT NULL, -- 1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; 0: no list has the thread
	created INTEGER NOT NULL, -- when the first version began
	updated INTEGER NOT NULL, -- when the newest run opened or ended
	wake    INTEGER NOT NULL  -- when the thread is due; 0: never
) WITHOUT ROWID;

-- The records of checkpoints, in the order of their logs. The key has the root of the version, a
-- hash of the namespace, and the id of the record before.
CREATE TABLE graph_record (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The names of namespaces.
CREATE TABLE graph_log (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The pending writes. The key has the root of the version and the id of the base.
CREATE TABLE graph_write (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The messages.
CREATE TABLE graph_message (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The released versions.
CREATE TABLE graph_version (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The order of threads, by what lists and workers select.
CREATE TABLE graph_index (
	pk BLOB NOT NULL PRIMARY KEY
) WITHOUT ROWID;

-- The items of the store, with their values if these are small.
CREATE TABLE graph_item (
	pk   BLOB NOT NULL PRIMARY KEY,
	rev  INTEGER NOT NULL,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- What the items of the store have: values, index entries, words and vectors.
CREATE TABLE graph_entry (
	pk   BLOB NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) WITHOUT ROWID;

-- The states, of a saver with ReadableState.
CREATE TABLE graph_state (
	pk         BLOB    NOT NULL PRIMARY KEY,
	thread     BLOB    NOT NULL, -- the pk of graph_thread
	version    INTEGER NOT NULL,
	seq        INTEGER NOT NULL, -- of the checkpoint of the root that left the state
	state_json TEXT    NOT NULL
) WITHOUT ROWID;

CREATE INDEX graph_state_thread ON graph_state (thread, version);
