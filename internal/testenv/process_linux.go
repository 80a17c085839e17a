package testenv

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// attributes returns the attributes of a child: its own process group, and a user.
func attributes(as *account) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

// dieWithParent makes a child get a signal when the thread that starts it ends.
func dieWithParent(a *syscall.SysProcAttr, sig syscall.Signal) { a.Pdeathsig = sig }

// credential returns the first existing user of users if this process is root, and otherwise nil.
func credential(users []string) *account {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err == nil {
			return &account{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// childrenOf returns the children of a process.
func childrenOf(pid int) []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil // it has ended
	}
	var children []int
	for _, word := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(word); err == nil {
			children = append(children, child)
		}
	}
	return children
}
