module github.com/graphgen-go/graphgen/bench/dbos

go 1.26.0

replace github.com/graphgen-go/graphgen => ../../

replace github.com/graphgen-go/graphgen/bench => ../

replace github.com/graphgen-go/graphgen/bench/peers/measure => ../peers/measure

require (
	github.com/dbos-inc/dbos-transact-golang v1.8.0
	github.com/graphgen-go/graphgen v0.0.0-00010101000000-000000000000
	github.com/graphgen-go/graphgen/bench v0.0.0-00010101000000-000000000000
	github.com/jackc/pgx/v5 v5.12.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgerrcode v0.0.0-20250907135507-afb5586c32a6 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
