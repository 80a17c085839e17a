package testenv

import (
	"os"
	"syscall"
)

// Servers do not run on Windows. Tests that need no server can be built there.

// account is the user of a process.
type account struct{ Uid, Gid uint32 }

// kill ends a process.
func kill(pid int, _ syscall.Signal) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// attributes returns the attributes of a child.
func attributes(*account) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// dieWithParent does nothing.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// credential returns nil: servers run as the user of the tests.
func credential([]string) *account { return nil }

// childrenOf returns nil.
func childrenOf(int) []int { return nil }
