//go:build linux && (amd64 || arm64)

package seccomp

import (
	"cmp"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// A node is a step of a decision: an answer, a look at a word of the call, or a branch
// by the word looked at last. Nodes are values; two that are equal decide alike.
type node interface{ step(*program) step }

type look struct {
	offset, mask uint32
	next         node
}

type branch struct {
	op      uint16 // unix.BPF_JEQ, BPF_JGE or BPF_JSET, against k
	k       uint32
	yes, no node
}

// Where the kernel puts the words of a call, see seccomp_data in linux/seccomp.h. On
// both architectures the lower half of an argument comes first.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// decide gives the whole decision. Everything that is allowed without a look at its
// arguments is known by architecture and number alone, and the kernel, which finds that
// out when the filter is loaded, never asks again.
func decide(rules []rule) node {
	numbers := look{offsetNumber, whole, balance(edgesOf(rules))}
	return look{offsetArch, whole, branch{unix.BPF_JEQ, arch, numbers, kill}}
}

// An edge is the number from which on a node decides, up to the next edge.
type edge struct {
	from uint32
	then node
}

// edgesOf cuts the numbers into as few pieces as the rules allow, from 0 on.
func edgesOf(rules []rule) []edge {
	decisions := map[span]node{}
	for _, r := range rules {
		for _, s := range r.numbers() {
			decisions[s] = r.decision()
		}
	}
	edges := []edge{{0, allow}}
	for _, s := range slices.SortedFunc(maps.Keys(decisions), func(a, b span) int { return cmp.Compare(a.first, b.first) }) {
		if last := &edges[len(edges)-1]; last.from == s.first {
			last.then = decisions[s]
		} else {
			edges = append(edges, edge{s.first, decisions[s]})
		}
		edges = append(edges, edge{s.last + 1, allow})
	}
	return slices.CompactFunc(edges, func(a, b edge) bool { return a.then == b.then })
}

// balance halves the edges until one is left, so that no number is further from the
// root than any other by more than one branch.
func balance(edges []edge) node {
	if len(edges) == 1 {
		return edges[0].then
	}
	half := len(edges) / 2
	return branch{unix.BPF_JGE, edges[half].from, balance(edges[half:]), balance(edges[:half])}
}

func (r rule) numbers() []span {
	numbers := slices.Clone(r.spans)
	for _, c := range r.calls {
		numbers = append(numbers, span{c.nr, c.nr})
	}
	return numbers
}

func (r rule) decision() node {
	if r.only != nil {
		return anyOf(r.only, r.answer, allow)
	}
	return anyOf(r.unless, allow, r.answer)
}

func anyOf(list []all, yes, no node) node {
	for _, a := range slices.Backward(list) {
		no = a.decision(yes, no)
	}
	return no
}

func (a all) decision(yes, no node) node {
	for _, t := range slices.Backward(a) {
		yes = t.decision(yes, no)
	}
	return yes
}

func (t test) decision(yes, no node) node {
	op := uint16(unix.BPF_JEQ)
	if t.bits {
		op = unix.BPF_JSET
	}
	for _, v := range slices.Backward(t.values) {
		no = branch{op, v.n, yes, no}
	}
	return look{offsetArgs + 8*uint32(t.of.at), t.of.mask, no}
}
