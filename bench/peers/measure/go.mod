module github.com/graphgen-go/graphgen/bench/peers/measure

go 1.26.0
