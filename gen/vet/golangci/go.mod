module github.com/graphgen-go/graphgen/gen/vet/golangci

go 1.26.0

replace github.com/graphgen-go/graphgen => ../../../

require (
	github.com/golangci/plugin-module-register v0.1.2
	github.com/graphgen-go/graphgen v0.0.0-00010101000000-000000000000
	golang.org/x/tools v0.52.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
