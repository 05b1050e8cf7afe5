//go:build linux && (amd64 || arm64)

package seccomp

import (
	"cmp"
	"maps"
	"math"
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
	byNumber := look{offsetNumber, whole, tree(edgesOf(rules), allNumbers)}
	return look{offsetArch, whole, branch{unix.BPF_JEQ, arch, byNumber, kill}}
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

// knownNumbers is about how many the kernel knows. When a filter is loaded it is run for
// each of them, which takes as long as to compile its instructions.
const knownNumbers = 470

// allNumbers is how many there are.
const allNumbers = 1 << 32

// tree decides the numbers below end: by comparing where few of them are decided otherwise
// than the rest, else by halves that weigh the same.
func tree(edges []edge, end uint64) node {
	if len(edges) == 1 {
		return edges[0].then
	}
	if n, ok := rest(edges, end); ok {
		return n
	}
	middle := half(edges, end)
	from := edges[middle].from
	return branch{unix.BPF_JGE, from, tree(edges[middle:], end), tree(edges[:middle], uint64(from))}
}

// mostCompared is how many numbers are compared one by one.
const mostCompared = 2

// rest decides what all numbers have in common but for a few single ones.
func rest(edges []edge, end uint64) (node, bool) {
	for _, common := range edges[:2] {
		n, compared := common.then, 0
		for i, e := range edges {
			switch {
			case e.then == common.then:
				continue
			case below(edges, i, end)-uint64(e.from) != 1:
				compared = mostCompared
			}
			compared++
			n = branch{unix.BPF_JEQ, e.from, e.then, n}
		}
		if compared <= mostCompared {
			return n, true
		}
	}
	return nil, false
}

// below is where the next edge begins.
func below(edges []edge, i int, end uint64) uint64 {
	if i+1 < len(edges) {
		return uint64(edges[i+1].from)
	}
	return end
}

// half gives the edge at which both sides weigh the same, as nearly as can be: each number
// that the kernel knows has a weight of one, and so has each edge, which is an instruction.
func half(edges []edge, end uint64) int {
	weight := func(i int, from uint64) int { return i + int(min(from, knownNumbers)) }
	whole := weight(0, uint64(edges[0].from)) + weight(len(edges), end)
	best, least := 1, math.MaxInt
	for i := 1; i < len(edges); i++ {
		if d := 2*weight(i, uint64(edges[i].from)) - whole; max(d, -d) < least {
			best, least = i, max(d, -d)
		}
	}
	return best
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
	at := offsetArgs + 8*uint32(t.of.at)
	if t.bits {
		any := uint32(0)
		for _, v := range t.values {
			any |= v.n
		}
		return look{at, t.of.mask, branch{unix.BPF_JSET, any, yes, no}}
	}
	for _, v := range slices.Backward(t.values) {
		no = branch{unix.BPF_JEQ, v.n, yes, no}
	}
	return look{at, t.of.mask, no}
}
