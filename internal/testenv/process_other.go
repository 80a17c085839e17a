//go:build unix && !linux

package testenv

import "syscall"

// attributes returns how a child runs: in a process group of its own.
func attributes(*syscall.Credential) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// dieWithParent does nothing: the guard ends the server.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// credential returns nil: servers run as whoever runs the tests, who is not root here.
func credential([]string) *syscall.Credential { return nil }

// childrenOf returns nil: children of a killed server notice and end on their own.
func childrenOf(int) []int { return nil }
