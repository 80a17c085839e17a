module github.com/graphgen-go/graphgen/agent

go 1.26.0

replace github.com/graphgen-go/graphgen => ../

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/graphgen-go/graphgen v0.0.0-00010101000000-000000000000
)

require (
	github.com/dave/jennifer v1.7.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

tool github.com/graphgen-go/graphgen/cmd/graphgen
