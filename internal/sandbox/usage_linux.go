//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
)

// Usage is what a tree of processes uses at one moment.
type Usage struct {
	// Resident is the sum of the resident sets, in bytes, of those processes whose
	// memory no cgroup of the call bounds. Pages that processes share are counted for
	// each of them.
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
		total.add(pid, p.unbounded(pid))
	}
	return total
}

// unbounded reports whether no cgroup of the call bounds the memory of a process: there
// is none, or the process has left it.
func (p *Process) unbounded(pid int) bool {
	if p.bounds == "" {
		return true
	}
	if p.plan.Report.Guarantees[durward.Mem].Held == durward.HeldKernel {
		return false // it could not leave
	}
	name, err := cgroupOf(strconv.Itoa(pid), p.plan.memory.controller())
	return err != nil || name != p.bounds && !strings.HasPrefix(name, p.bounds+"/")
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

func (u *Usage) add(pid int, unbounded bool) {
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
	if !unbounded {
		return
	}
	pages, _ := strconv.ParseInt(field[statResident], 10, 64)
	u.Resident += pages * int64(os.Getpagesize())
}
