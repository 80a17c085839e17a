//go:build unix

package testenv

import "syscall"

// account is the user of a process.
type account = syscall.Credential

// kill sends a signal to a process.
func kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }
