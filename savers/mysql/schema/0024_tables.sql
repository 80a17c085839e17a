-- The tables of a saver, for MySQL 8 and MariaDB 10.11. Ids and names are opaque bytes. Times are microseconds since
-- 1970, in UTC.

CREATE TABLE IF NOT EXISTS graph_schema (
	version INT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A thread and its open version; version is 0 when there is none.
CREATE TABLE IF NOT EXISTS graph_thread (
	thread_no    BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'no later thread gets it: the birth of the thread',
	thread_key   VARBINARY(1024) NOT NULL COMMENT 'the id',
	last_version INT            NOT NULL COMMENT 'the newest there ever was',
	version      INT            NOT NULL,
	root         BIGINT         NOT NULL COMMENT 'the log of the root of that version',
	versions     INT            NOT NULL COMMENT 'how many there are',
	status       SMALLINT       NOT NULL COMMENT '1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; without an open version 6 with inputs, else 0',
	fence        BINARY(16)     NOT NULL COMMENT 'the record that opened the newest run',
	holder       VARBINARY(1024) NOT NULL,
	lease_until  BIGINT         NOT NULL COMMENT '0 when it was given up',
	updated      BIGINT         NOT NULL,
	asked        BOOLEAN        NOT NULL COMMENT 'there may be open questions',
	packed_id    BINARY(16)     NOT NULL DEFAULT '' COMMENT 'no packed record has a larger id',
	created      BIGINT         NOT NULL DEFAULT 0 COMMENT 'when the first version began',
	graph        VARBINARY(200) NOT NULL DEFAULT '' COMMENT 'the name of the graph that opened the newest run',
	title        VARBINARY(1024) NOT NULL DEFAULT '',
	labels       VARBINARY(10000) NOT NULL DEFAULT '' COMMENT 'the rows of graph_label',
	wake         BIGINT         NOT NULL DEFAULT 0 COMMENT 'when the thread is due; 0: never',
	attempts     INT            NOT NULL DEFAULT 0 COMMENT 'openings in a row that followed a crash or a failure',
	posted       BIGINT         NOT NULL DEFAULT 0 COMMENT 'the number of the newest message',
	inputs       INT            NOT NULL DEFAULT 0 COMMENT 'untaken inputs',
	others       INT            NOT NULL DEFAULT 0 COMMENT 'other untaken messages',
	cancels      INT            NOT NULL DEFAULT 0 COMMENT 'how many of these are cancels',
	priority     SMALLINT       NOT NULL DEFAULT 3 COMMENT '1 urgent, 2 high, 3 normal, 4 low',
	UNIQUE KEY graph_thread_key (thread_key),
	KEY graph_thread_created (created, thread_key),
	KEY graph_thread_status (status, created, thread_key),
	KEY graph_thread_graph (graph, created, thread_key),
	KEY graph_thread_wake (graph, priority, wake, thread_no)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The labels of threads, for lists. Only a run that changes labels changes them.
CREATE TABLE IF NOT EXISTS graph_label (
	name       VARBINARY(100) NOT NULL,
	value      VARBINARY(200) NOT NULL,
	thread_key VARBINARY(1024) NOT NULL,
	created    BIGINT         NOT NULL COMMENT 'as graph_thread.created',
	PRIMARY KEY (name, value, created, thread_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The messages of threads. A row stays when its message was taken, so that the id is known.
CREATE TABLE IF NOT EXISTS graph_mail (
	thread_no BIGINT     NOT NULL,
	number    BIGINT     NOT NULL,
	id        BINARY(16) NOT NULL COMMENT 'a hash of the id of the message',
	kind      SMALLINT   NOT NULL COMMENT '1 input, 2 answer, 3 signal, 4 cancel',
	state     SMALLINT   NOT NULL COMMENT '0 untaken, 1 taken, 2 refused',
	handled   BIGINT     NOT NULL COMMENT 'the newest number of the thread when it was taken or refused, else 0',
	posted_at BIGINT     NOT NULL,
	reason    VARBINARY(1024) NOT NULL COMMENT 'why the message was refused',
	head      BLOB       NOT NULL COMMENT 'id, name and key; ends with a checksum of them and the thread',
	payload   LONGBLOB   COMMENT 'ends with a checksum of it and the thread; NULL: the message was taken',
	PRIMARY KEY (thread_no, number),
	UNIQUE KEY graph_mail_id (thread_no, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS graph_version (
	thread_no BIGINT   NOT NULL,
	number    INT      NOT NULL,
	root      BIGINT   NOT NULL COMMENT 'the log of its root',
	status    SMALLINT NOT NULL COMMENT 'of a released version; graph_thread has that of the open one',
	updated   BIGINT   NOT NULL,
	released  BIGINT   NOT NULL COMMENT '0 while open',
	PRIMARY KEY (thread_no, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The logs of versions: one of the root, whose ns_key is empty, and one for each namespace of a subgraph.
CREATE TABLE IF NOT EXISTS graph_log (
	log_no    BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
	thread_no BIGINT         NOT NULL,
	version   INT            NOT NULL,
	ns_key    VARBINARY(240) NOT NULL COMMENT 'the namespace, or of one longer than 200 bytes its beginning and a hash',
	ns_name   MEDIUMBLOB,
	settled   BIGINT         NOT NULL DEFAULT 0 COMMENT 'packing has looked at the records up to this seq: those with rows keep them',
	UNIQUE KEY graph_log_key (thread_no, version, ns_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What the records of a run have in common.
CREATE TABLE IF NOT EXISTS graph_line (
	root        BIGINT     NOT NULL COMMENT 'the log of the root of the version',
	line_no     BIGINT     NOT NULL,
	line        BINARY(16) NOT NULL,
	fingerprint BIGINT     NOT NULL,
	graph       MEDIUMBLOB NOT NULL,
	PRIMARY KEY (root, line_no)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Records. A record is committed when it is marked_committed or the record with the next seq commits_previous.
CREATE TABLE IF NOT EXISTS graph_checkpoint (
	log_no           BIGINT     NOT NULL,
	seq              BIGINT     NOT NULL,
	root             BIGINT     NOT NULL COMMENT 'the log of the root of the version',
	id               BINARY(16) NOT NULL,
	line_no          BIGINT     NOT NULL,
	source           TINYINT    NOT NULL COMMENT '1 input, 2 loop, 3 update, 4 fork, 5 resume',
	snapshot         BOOLEAN    NOT NULL COMMENT 'the body holds a whole state, not a change of one',
	commits_previous BOOLEAN    NOT NULL COMMENT 'it commits the record with the seq before',
	marked_committed BOOLEAN    NOT NULL DEFAULT FALSE COMMENT 'a record other than the next one commits it',
	next_removed     BOOLEAN    NOT NULL DEFAULT FALSE COMMENT 'Prune removed the record with the next seq',
	step             BIGINT     NOT NULL,
	created          BIGINT     NOT NULL,
	parent           BINARY(16) COMMENT 'NULL: the record with the seq before, or none if there is no such record; zeros: none',
	base             BINARY(16) COMMENT 'NULL: the record itself',
	commits          BINARY(16) COMMENT 'NULL: none, or the record with the seq before if commits_previous',
	body             LONGBLOB   NOT NULL COMMENT 'ends with a checksum of the record, its thread and its namespace; payload has its own in it',
	payload          LONGBLOB COMMENT 'if it is larger than 256 bytes; else it is in body',
	PRIMARY KEY (log_no, seq),
	UNIQUE KEY graph_checkpoint_id (root, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Records that follow each other in a log, in one row: old ones, which are read together. No record is in a pack and in a row
-- of its own. The record after a pack holds the ids of its parent and of what it commits itself.
CREATE TABLE IF NOT EXISTS graph_pack (
	log_no    BIGINT     NOT NULL,
	first_seq BIGINT     NOT NULL,
	last_seq  BIGINT     NOT NULL,
	root      BIGINT     NOT NULL COMMENT 'the log of the root of the version',
	first_id  BINARY(16) NOT NULL COMMENT 'the smallest id',
	last_id   BINARY(16) NOT NULL COMMENT 'the largest id',
	records   BIGINT     NOT NULL COMMENT 'how many there are',
	whole     BOOLEAN    NOT NULL COMMENT 'the first has a snapshot',
	body      LONGBLOB   NOT NULL COMMENT 'ends with a checksum of it, its thread, its namespace and its place',
	PRIMARY KEY (log_no, last_seq),
	KEY graph_pack_id (root, last_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Pending writes. Those whose base is committed count for nothing.
CREATE TABLE IF NOT EXISTS graph_write (
	write_no  BIGINT     NOT NULL AUTO_INCREMENT PRIMARY KEY,
	root      BIGINT     NOT NULL COMMENT 'the log of the root of the version',
	base      BINARY(16) NOT NULL COMMENT '0 for the description of a schema',
	write_key BINARY(16) NOT NULL COMMENT 'of namespace, task, kind and name',
	kind      SMALLINT   NOT NULL COMMENT '1 result, 2 question, 3 answer, 4 failure, 6 the description of a schema, 7 outcome',
	data      LONGBLOB   NOT NULL COMMENT 'ends with a checksum of the write and its thread',
	UNIQUE KEY graph_write_key (root, base, write_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The state of versions as JSON, as their newest run that ended left it, of savers that were told to keep it.
CREATE TABLE IF NOT EXISTS graph_state (
	thread_no  BIGINT NOT NULL,
	version    INT    NOT NULL,
	seq        BIGINT NOT NULL,
	state_json JSON   NOT NULL,
	PRIMARY KEY (thread_no, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
