package main

import _ "embed"

// manual is what -h prints: the text of the package's documentation. A test holds them together.
//
//go:embed manual.txt
var manual string
