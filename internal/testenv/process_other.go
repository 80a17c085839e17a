//go:build unix && !linux

package testenv

import "syscall"

// attributes returns the attributes of a child: its own process group.
func attributes(*account) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// dieWithParent does nothing: the guard ends the server.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// credential returns nil: servers run as the user of the tests, who is not root here.
func credential([]string) *account { return nil }

// childrenOf returns nil: the children of a killed server end by themselves.
func childrenOf(int) []int { return nil }
