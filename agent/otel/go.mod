module github.com/graphgen-go/graphgen/agent/otel

go 1.26.0

replace (
	github.com/graphgen-go/graphgen => ../../
	github.com/graphgen-go/graphgen/agent => ../
)

require (
	github.com/graphgen-go/graphgen v0.0.0-00010101000000-000000000000
	github.com/graphgen-go/graphgen/agent v0.0.0-00010101000000-000000000000
	go.opentelemetry.io/otel v1.47.0 // attributes
	go.opentelemetry.io/otel/metric v1.47.0 // the API of metrics
	go.opentelemetry.io/otel/sdk v1.47.0 // tests: reads spans
	go.opentelemetry.io/otel/sdk/metric v1.47.0 // tests: reads metrics
	go.opentelemetry.io/otel/trace v1.47.0 // the API of traces
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
