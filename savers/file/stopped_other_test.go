//go:build !unix

package file_test

// stopRoles returns nothing: a process cannot stop itself.
func stopRoles() map[string]func(dir string) error { return nil }
