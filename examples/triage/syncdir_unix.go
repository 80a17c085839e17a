//go:build unix

package main

import (
	"errors"
	"os"
)

// syncDir syncs the names in a folder to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
