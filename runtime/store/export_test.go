package store

// CountWords returns the words of texts, as a text index has them.
var CountWords = countWords //nolint:gochecknoglobals // for tests

// SearchWords returns the words of the text of a search.
var SearchWords = searchWords //nolint:gochecknoglobals // for tests
