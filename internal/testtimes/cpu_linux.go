package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// processorTime returns the processor time of a process, of the children that it has waited for,
// and of its live descendants. A process that ends meanwhile counts as none.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before it may have spaces
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0
	}
	var ticks int64
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime: see proc(5)
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	sum := time.Duration(ticks) * (time.Second / 100) // a tick is 10 ms for every program
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				sum += processorTime(n)
			}
		}
	}
	return sum
}
