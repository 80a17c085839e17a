package sqlsaver

// signature is what a dialect's files must say of a statement.
type signature struct {
	name       string
	parameters string // the names of the values that the program binds, in order
	optional   bool   // a dialect may lack it
}

// signatures returns the signatures of all statements.
func signatures() [statements]signature {
	return [...]signature{
		stStoreGet:                 {name: "store_get", parameters: "namespace, item_key"},
		stStoreFind:                {name: "store_find", parameters: "first_namespace, end_namespace, limit"},
		stStoreFindIn:              {name: "store_find_in", parameters: "namespace, after_key, limit"},
		stStoreNamespace:           {name: "store_namespace", parameters: "first_namespace, end_namespace"},
		stStoreVectors:             {name: "store_vectors", parameters: "namespace, item_key"},
		stStoreSearch:              {name: "store_search", parameters: "first_namespace, end_namespace, name, limit"},
		stStoreWords:               {name: "store_words", parameters: "first_namespace, end_namespace, name, word, limit"},
		stStorePutWords:            {name: "store_put_words", parameters: "name, namespace, item_key, total, words"},
		stStoreDropWords:           {name: "store_drop_words", parameters: "namespace, item_key, name"},
		stStoreDeclared:            {name: "store_declared", parameters: "name"},
		stStoreNow:                 {name: "store_now", optional: true},
		stStoreLock:                {name: "store_lock", parameters: "namespace, item_key"},
		stStoreLockAll:             {name: "store_lock_all", parameters: "keys", optional: true},
		stStoreInsert:              {name: "store_insert", parameters: "namespace, item_key, version, created, updated, expires, ttl, entries, value"},
		stStoreUpdate:              {name: "store_update", parameters: "version, created, updated, expires, ttl, entries, value, namespace, item_key"},
		stStoreTouch:               {name: "store_touch", parameters: "expires, entries, namespace, item_key"},
		stStoreInsertEntry:         {name: "store_insert_entry", parameters: "name, namespace, value, item_key"},
		stStoreRemoveEntry:         {name: "store_remove_entry", parameters: "name, namespace, value, item_key"},
		stStorePutVector:           {name: "store_put_vector", parameters: "namespace, item_key, part, name, hash, vec"},
		stStoreDropVector:          {name: "store_drop_vector", parameters: "namespace, item_key, part"},
		stStoreDeclare:             {name: "store_declare", parameters: "name, model, dims"},
		stStoreUsed:                {name: "store_used", parameters: "namespace, item_key, once_key"},
		stStoreUsedAll:             {name: "store_used_all", parameters: "uses", optional: true},
		stStoreUse:                 {name: "store_use", parameters: "namespace, item_key, once_key, version, used"},
		stStoreExpired:             {name: "store_expired", parameters: "limit"},
		stStorePurge:               {name: "store_purge", parameters: "before, limit"},
		stStoreForget:              {name: "store_forget", parameters: "age, limit"},
		stHasSchema:                {name: "has_schema"},
		stSchemaVersion:            {name: "schema_version"},
		stInsertSchemaVersion:      {name: "insert_schema_version", parameters: "version"},
		stHasStoreSchema:           {name: "has_store_schema"},
		stStoreSchemaVersion:       {name: "store_schema_version"},
		stInsertStoreSchemaVersion: {name: "insert_store_schema_version", parameters: "version"},
		stLockSchema:               {name: "lock_schema", optional: true},
		stUnlockSchema:             {name: "unlock_schema", optional: true},
		stDropTables:               {name: "drop_tables", optional: true},
		stDropFunctions:            {name: "drop_functions", optional: true},
	}
}
