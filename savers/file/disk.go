package file

import (
	"errors"
	"fmt"
	"os"
)

// disk holds the file operations that can fail half-way. Tests replace them to inject faults.
type disk struct {
	write    func(f *os.File, b []byte, at int64) error
	sync     func(f *os.File) error
	extend   func(f *os.File, from, to int64) error // nil if that saves no time
	truncate func(f *os.File, size int64) error
	rename   func(from, to string) error
	remove   func(path string) error
	syncDir  func(path string) error
}

// realDisk returns a disk that calls the operating system.
func realDisk() disk {
	return disk{
		write: func(f *os.File, b []byte, at int64) error {
			_, err := f.WriteAt(b, at)
			return err
		},
		sync:     syncFile,
		extend:   extendFile,
		truncate: (*os.File).Truncate,
		rename:   renameFile,
		remove:   removeFile,
		syncDir:  syncDir,
	}
}

// exists reports whether a file exists.
func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("file: %w", err)
}
