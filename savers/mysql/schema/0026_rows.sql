-- The tables of a saver, for MySQL 8 and MariaDB 10.11. They keep rows, as the contract of package
-- savers/rows says. pk is the key of a row, and data its value, which ends with a checksum. Times
-- are microseconds since 1970, in UTC. A saver reads only pk, rev and data; the other columns are
-- for people.

CREATE TABLE IF NOT EXISTS graph_schema (
	version INT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The threads. pk is the id.
CREATE TABLE IF NOT EXISTS graph_thread (
	pk      VARBINARY(1024) NOT NULL PRIMARY KEY,
	rev     BIGINT          NOT NULL COMMENT 'the revision: each change of the row gives it another one',
	data    LONGBLOB        NOT NULL,
	graph   VARBINARY(200)  NOT NULL COMMENT 'the name of the graph that opened the newest run',
	title   VARBINARY(1024) NOT NULL,
	version INT             NOT NULL COMMENT 'the open version; 0 when there is none',
	status  SMALLINT        NOT NULL COMMENT '1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; 0: no list has the thread',
	created BIGINT          NOT NULL COMMENT 'when the first version began',
	updated BIGINT          NOT NULL COMMENT 'when the newest run opened or ended',
	wake    BIGINT          NOT NULL COMMENT 'when the thread is due; 0: never'
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The records of checkpoints, in the order of their logs. The key has the root of the version, a
-- hash of the namespace, and the id of the record before.
CREATE TABLE IF NOT EXISTS graph_record (
	pk   VARBINARY(64) NOT NULL PRIMARY KEY,
	data LONGBLOB      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The names of namespaces.
CREATE TABLE IF NOT EXISTS graph_log (
	pk   VARBINARY(64) NOT NULL PRIMARY KEY,
	data LONGBLOB      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The pending writes. The key has the root of the version and the id of the base.
CREATE TABLE IF NOT EXISTS graph_write (
	pk   VARBINARY(64) NOT NULL PRIMARY KEY,
	data LONGBLOB      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The messages.
CREATE TABLE IF NOT EXISTS graph_message (
	pk   VARBINARY(64) NOT NULL PRIMARY KEY,
	data LONGBLOB      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The released versions.
CREATE TABLE IF NOT EXISTS graph_version (
	pk   VARBINARY(64) NOT NULL PRIMARY KEY,
	data LONGBLOB      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The order of threads, by what lists and workers select.
CREATE TABLE IF NOT EXISTS graph_index (
	pk VARBINARY(2648) NOT NULL PRIMARY KEY
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The items of the store, with their values if these are small.
CREATE TABLE IF NOT EXISTS graph_item (
	pk   VARBINARY(2648) NOT NULL PRIMARY KEY,
	rev  BIGINT NOT NULL,
	data LONGBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What the items of the store have: values, index entries, words and vectors.
CREATE TABLE IF NOT EXISTS graph_entry (
	pk   VARBINARY(2648) NOT NULL PRIMARY KEY,
	data LONGBLOB NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The states, of a saver with ReadableState.
CREATE TABLE IF NOT EXISTS graph_state (
	pk         VARBINARY(64)   NOT NULL PRIMARY KEY,
	thread     VARBINARY(1024) NOT NULL COMMENT 'the pk of graph_thread',
	version    INT             NOT NULL,
	seq        BIGINT          NOT NULL COMMENT 'of the checkpoint of the root that left the state',
	state_json JSON            NOT NULL,
	KEY graph_state_thread (thread, version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
