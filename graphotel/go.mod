module github.com/graphgen-go/graphgen/graphotel

go 1.26.0

replace github.com/graphgen-go/graphgen => ../

require (
	github.com/graphgen-go/graphgen v0.0.0-00010101000000-000000000000
	go.opentelemetry.io/otel v1.47.0 // attributes and propagation
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc v1.47.0 // tests: metrics reach a receiver
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc v1.47.0 // tests: spans reach a receiver
	go.opentelemetry.io/otel/metric v1.47.0 // the API of metrics
	go.opentelemetry.io/otel/sdk v1.47.0 // tests: the resource of a program
	go.opentelemetry.io/otel/sdk/metric v1.47.0 // tests: reads metrics
	go.opentelemetry.io/otel/trace v1.47.0 // the API of traces
	go.opentelemetry.io/proto/otlp v1.11.1 // tests: the protocol of the receiver
	google.golang.org/grpc v1.85.0 // tests: the server of the receiver
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dave/jennifer v1.7.1 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.31.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

tool github.com/graphgen-go/graphgen/cmd/graphgen
