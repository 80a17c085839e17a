package testenv

import (
	"errors"
	"os"
	"path/filepath"
)

// cached returns a folder of the cache of this machine. If the folder is missing, fill fills it.
// It appears whole or not at all.
func cached(name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if os.Getuid() == 0 { // a server may run as another user, who cannot read the cache of root
		cache, err = "/var/cache", nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "graphgen", name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }()
	if err := errors.Join(fill(building), os.Chmod(building, 0o755)); err != nil {
		return "", err
	}
	err = os.Rename(building, dir)
	if _, absent := os.Stat(dir); absent == nil {
		return dir, nil // another process can have been faster
	}
	return "", err
}
