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
		stHasSchema:           {name: "has_schema"},
		stSchemaVersion:       {name: "schema_version"},
		stInsertSchemaVersion: {name: "insert_schema_version", parameters: "version"},
		stLockSchema:          {name: "lock_schema", optional: true},
		stUnlockSchema:        {name: "unlock_schema", optional: true},
		stDropTables:          {name: "drop_tables", optional: true},
		stDropFunctions:       {name: "drop_functions", optional: true},
	}
}
