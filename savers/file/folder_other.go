//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package file

import "io/fs"

// noFollow is what opens no symbolic link, where there is such a flag.
const noFollow = 0

// othersMayWrite reports false: the mode of a folder does not say who may write to it.
func othersMayWrite(fs.FileInfo) bool { return false }

func outOfReach(string) (bool, error) { return true, nil }
