-- The tables of a saver. Ids and names are opaque bytes. Times are microseconds since 1970, in UTC.

CREATE TABLE graph_schema (
	version INTEGER NOT NULL PRIMARY KEY
);

-- A thread and its open version; version is 0 when there is none.
CREATE TABLE graph_thread (
	thread_no    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- no later thread gets it: the birth of the thread
	thread_key   BLOB    NOT NULL,           -- the id
	last_version INTEGER NOT NULL,           -- the newest there ever was
	version      INTEGER NOT NULL,
	root         INTEGER NOT NULL,           -- the log of that version's root
	versions     INTEGER NOT NULL,           -- how many there are
	status       INTEGER NOT NULL,           -- 1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; without an open version 6 with inputs, else 0
	fence        BLOB    NOT NULL,           -- the record that opened the newest run
	holder       BLOB    NOT NULL,
	lease_until  INTEGER NOT NULL,           -- 0 when it was given up
	updated      INTEGER NOT NULL,
	asked        INTEGER NOT NULL,           -- TRUE: there may be open questions
	packed_id    BLOB    NOT NULL DEFAULT x'00000000000000000000000000000000', -- no packed record has a larger id
	created      INTEGER NOT NULL DEFAULT 0, -- when the first version began
	graph        BLOB    NOT NULL DEFAULT x'', -- the name of the graph that opened the newest run
	title        BLOB    NOT NULL DEFAULT x'',
	labels       BLOB    NOT NULL DEFAULT x'', -- the rows of graph_label
	wake         INTEGER NOT NULL DEFAULT 0, -- when the thread is due; 0: never
	attempts     INTEGER NOT NULL DEFAULT 0, -- openings in a row that followed a crash or a failure
	posted       INTEGER NOT NULL DEFAULT 0, -- the number of the newest message
	inputs       INTEGER NOT NULL DEFAULT 0, -- untaken inputs
	others       INTEGER NOT NULL DEFAULT 0, -- other untaken messages
	cancels      INTEGER NOT NULL DEFAULT 0, -- how many of these are cancels
	priority     INTEGER NOT NULL DEFAULT 3  -- 1 urgent, 2 high, 3 normal, 4 low
);

CREATE UNIQUE INDEX graph_thread_key ON graph_thread (thread_key);

CREATE INDEX graph_thread_created ON graph_thread (created, thread_key);

-- Of the threads that are not done.
CREATE INDEX graph_thread_status ON graph_thread (status, created, thread_key) WHERE status NOT IN (0, 5);

CREATE INDEX graph_thread_graph ON graph_thread (graph, created, thread_key);

CREATE INDEX graph_thread_wake ON graph_thread (graph, priority, wake, thread_no) WHERE wake > 0;

-- The labels of threads, for lists. Only a run that changes labels changes them.
CREATE TABLE graph_label (
	name       BLOB NOT NULL,
	value      BLOB NOT NULL,
	thread_key BLOB NOT NULL,
	created    INTEGER NOT NULL, -- as graph_thread.created
	PRIMARY KEY (name, value, created, thread_key)
) WITHOUT ROWID;

-- The messages of threads. A row stays when its message was taken, so that the id is known. The unique index on thread_no and
-- id is made with the first message, because an index takes a page.
CREATE TABLE graph_mail (
	thread_no INTEGER NOT NULL,
	number    INTEGER NOT NULL,
	id        BLOB    NOT NULL,              -- a hash of the message's id
	kind      INTEGER NOT NULL,              -- 1 input, 2 answer, 3 signal, 4 cancel
	state     INTEGER NOT NULL,              -- 0 untaken, 1 taken, 2 refused
	handled   INTEGER NOT NULL,              -- the newest number of the thread when it was taken or refused, else 0
	posted_at INTEGER NOT NULL,
	reason    BLOB    NOT NULL,              -- why the message was refused
	head      BLOB    NOT NULL,              -- id, name and key; ends with a checksum of them and the thread
	payload   BLOB,                          -- ends with a checksum of it and the thread; NULL: the message was taken
	PRIMARY KEY (thread_no, number)
) WITHOUT ROWID;

CREATE TABLE graph_version (
	thread_no INTEGER NOT NULL,
	number    INTEGER NOT NULL,
	root      INTEGER NOT NULL,              -- the log of its root
	status    INTEGER NOT NULL,              -- of a released version; graph_thread has the open one's
	updated   INTEGER NOT NULL,
	released  INTEGER NOT NULL,              -- 0 while open
	PRIMARY KEY (thread_no, number)
) WITHOUT ROWID;

-- The logs of versions: one of the root, whose ns_key is empty, and one for each namespace of a subgraph.
CREATE TABLE graph_log (
	log_no    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	thread_no INTEGER NOT NULL,
	version   INTEGER NOT NULL,
	ns_key    BLOB    NOT NULL,              -- the namespace, or of one longer than 200 bytes its beginning and a hash
	ns_name   BLOB,
	settled   INTEGER NOT NULL DEFAULT 0     -- packing has looked at the records up to this seq: those with rows keep them
);

CREATE UNIQUE INDEX graph_log_key ON graph_log (thread_no, version, ns_key);

-- What the records of a run have in common.
CREATE TABLE graph_line (
	root        INTEGER NOT NULL,            -- the log of the version's root
	line_no     INTEGER NOT NULL,
	line        BLOB    NOT NULL,
	fingerprint INTEGER NOT NULL,
	graph       BLOB    NOT NULL,
	PRIMARY KEY (root, line_no)
) WITHOUT ROWID;

-- Records. A record is committed when it is marked_committed or the record with the next seq commits_previous.
--
-- Three columns are packed, and the columns after payload read them; those take no room. pos, the key, keeps a log at the end
-- of the tree while it is the newest, where pages are filled to the last byte. A row of 200 bytes is a fourteenth of a page.
CREATE TABLE graph_checkpoint (
	pos     INTEGER NOT NULL PRIMARY KEY,    -- log_no << 28 | seq
	root    INTEGER NOT NULL,                -- the log of the version's root
	id      BLOB    NOT NULL,
	line_no INTEGER NOT NULL,
	flags   INTEGER NOT NULL,                -- created << 7 | seven bits
	step    INTEGER NOT NULL,
	links   BLOB,                            -- parent, base and commits, 17 bytes each: a 1 and the id, or zeros for NULL; NULL: all are NULL
	body    BLOB    NOT NULL,                -- ends with a checksum of the record, its thread and its namespace; payload has its own in it
	payload BLOB,                            -- if it is larger than 256 bytes; else it is in body

	log_no           INTEGER GENERATED ALWAYS AS (pos >> 28) VIRTUAL,
	seq              INTEGER GENERATED ALWAYS AS (pos & 0xfffffff) VIRTUAL,
	source           INTEGER GENERATED ALWAYS AS (flags & 7) VIRTUAL,        -- 1 input, 2 loop, 3 update, 4 fork, 5 resume
	snapshot         INTEGER GENERATED ALWAYS AS ((flags >> 3) & 1) VIRTUAL, -- the body holds a whole state, not a change of one
	commits_previous INTEGER GENERATED ALWAYS AS ((flags >> 4) & 1) VIRTUAL, -- it commits the record with the seq before
	next_removed     INTEGER GENERATED ALWAYS AS ((flags >> 5) & 1) VIRTUAL, -- Prune removed the record with the next seq
	marked_committed INTEGER GENERATED ALWAYS AS ((flags >> 6) & 1) VIRTUAL, -- a record other than the next one commits it
	created          INTEGER GENERATED ALWAYS AS (flags >> 7) VIRTUAL,
	-- NULL: the record with the seq before, or none if there is no such record; zeros: none
	parent  BLOB GENERATED ALWAYS AS (CASE WHEN substr(links, 1, 1) = x'01' THEN substr(links, 2, 16) END) VIRTUAL,
	-- NULL: the record itself
	base    BLOB GENERATED ALWAYS AS (CASE WHEN substr(links, 18, 1) = x'01' THEN substr(links, 19, 16) END) VIRTUAL,
	-- NULL: none, or the record with the seq before if commits_previous
	commits BLOB GENERATED ALWAYS AS (CASE WHEN substr(links, 35, 1) = x'01' THEN substr(links, 36, 16) END) VIRTUAL
);

-- Of an id the index has what says its time: that tells ids apart, and puts a new one at the end.
CREATE INDEX graph_checkpoint_id ON graph_checkpoint (root, substr(id, 3, 6));

-- Records that follow each other in a log, in one row: old ones, which are read together. No record is in a pack and in a row
-- of its own. The record after a pack holds the ids of its parent and of what it commits itself.
CREATE TABLE graph_pack (
	pos       INTEGER NOT NULL PRIMARY KEY,  -- log_no << 28 | last_seq
	first_seq INTEGER NOT NULL,
	root      INTEGER NOT NULL,              -- the log of the version's root
	first_id  BLOB    NOT NULL,              -- the smallest and the largest id
	last_id   BLOB    NOT NULL,
	records   INTEGER NOT NULL,              -- how many there are
	whole     INTEGER NOT NULL,              -- the first has a snapshot
	body      BLOB    NOT NULL,              -- ends with a checksum of it, its thread, its namespace and its place

	log_no    INTEGER GENERATED ALWAYS AS (pos >> 28) VIRTUAL,
	last_seq  INTEGER GENERATED ALWAYS AS (pos & 0xfffffff) VIRTUAL
);

CREATE INDEX graph_pack_id ON graph_pack (root, last_id);

-- Pending writes. Those whose base is committed count for nothing.
CREATE TABLE graph_write (
	write_no  INTEGER NOT NULL PRIMARY KEY,
	root      INTEGER NOT NULL,              -- the log of the version's root
	base      BLOB    NOT NULL,              -- 0 for the description of a schema
	write_key BLOB    NOT NULL,              -- of namespace, task, kind and name
	kind      INTEGER NOT NULL,              -- 1 result, 2 question, 3 answer, 4 failure, 6 the description of a schema, 7 outcome
	data      BLOB    NOT NULL                -- ends with a checksum of the write and its thread
);

CREATE UNIQUE INDEX graph_write_key ON graph_write (root, base, write_key);

-- The state of versions as JSON, as their newest run that ended left it, of savers that were told to keep it.
CREATE TABLE graph_state (
	thread_no  INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	seq        INTEGER NOT NULL,
	state_json TEXT    NOT NULL,
	PRIMARY KEY (thread_no, version)
) WITHOUT ROWID;
