//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a tree of processes uses at one moment.
type Usage struct {
	// Resident is the sum of the resident sets, in bytes. Pages that processes share
	// are counted for each of them.
	Resident int64
	// CPU is processor time, user and system, of the living processes and of the
	// children they have waited for.
	CPU time.Duration
}

// Usage looks at every process of the tree. It is a reading, not a limit: a process
// that comes and goes between two readings is seen only by its parent's account.
func (p *Process) Usage() Usage {
	var total Usage
	for _, pid := range p.processes() {
		total.add(pid)
	}
	return total
}

// processes lists the tree by the ids that the host knows.
func (p *Process) processes() []int {
	if p.plan.direct {
		ids, _ := os.ReadFile(p.group.path + "/cgroup.procs")
		return numbers(ids)
	}
	tree := []int{p.pid}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children(tree[i])...)
	}
	return tree
}

func children(pid int) []int {
	task := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(task)
	if err != nil {
		return nil
	}
	var all []int
	for _, t := range threads {
		ids, _ := os.ReadFile(task + "/" + t.Name() + "/children")
		all = append(all, numbers(ids)...)
	}
	return all
}

func numbers(text []byte) []int {
	var list []int
	for _, f := range bytes.Fields(text) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// Columns of /proc/PID/stat behind the name of the program, which stands in
// parentheses and may hold anything.
const (
	statUserTime   = 11 // then system time, and both again for waited-for children
	statResident   = 21 // in pages
	ticksPerSecond = 100
)

func (u *Usage) add(pid int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return // it has ended
	}
	field := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(field) <= statResident {
		return
	}
	for _, ticks := range field[statUserTime : statUserTime+4] {
		n, _ := strconv.ParseInt(ticks, 10, 64)
		u.CPU += time.Duration(n) * time.Second / ticksPerSecond
	}
	pages, _ := strconv.ParseInt(field[statResident], 10, 64)
	u.Resident += pages * int64(os.Getpagesize())
}
