package file

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// disk holds the file operations that can fail half-way. Tests replace them to inject faults.
type disk struct {
	write    func(f *os.File, b []byte, at int64) error
	sync     func(f *os.File) error
	truncate func(f *os.File, size int64) error
	remove   func(folder *os.Root, name string) error
	syncDir  func(folder *os.Root) error
}

// realDisk returns a disk that calls the operating system.
func realDisk() disk {
	return disk{
		write: func(f *os.File, b []byte, at int64) error {
			_, err := f.WriteAt(b, at)
			return err
		},
		sync:     (*os.File).Sync,
		truncate: (*os.File).Truncate,
		remove:   (*os.Root).Remove,
		syncDir:  syncDir,
	}
}

// syncDir makes the names in a folder durable. Windows has no such call. Some file systems cannot
// and say so.
func syncDir(folder *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := folder.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
