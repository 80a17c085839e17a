package main

import _ "embed"

// manual is the output of -h: the text of the package documentation. A test keeps them equal.
//
//go:embed manual.txt
var manual string
