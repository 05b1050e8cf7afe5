//go:build linux && (amd64 || arm64)

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// A program is written from its end: jumps only go forward, so that where they go to is
// already there.
type program struct {
	code []unix.SockFilter // the last instruction first
	ids  map[step]int      // what is written, by what it does
	at   []int             // by id, where in code its first instruction is
}

// A step is a node whose next nodes are written.
type step struct {
	code    uint16
	k, mask uint32
	yes, no int
}

// assemble gives the instructions of a decision. Equal parts are written once.
func assemble(n node) []unix.SockFilter {
	p := program{ids: map[step]int{}}
	p.write(n)
	slices.Reverse(p.code)
	return p.code
}

// write gives the id of a node, which is written by then.
func (p *program) write(n node) int {
	s := n.step(p)
	id, written := p.ids[s]
	if !written {
		id = len(p.at)
		p.ids[s] = id
		p.emit(s)
		p.at = append(p.at, len(p.code)-1)
	}
	return id
}

const (
	opAnswer = unix.BPF_RET | unix.BPF_K
	opLook   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	opBranch = unix.BPF_JMP | unix.BPF_K
	opMask   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	opJump   = unix.BPF_JMP | unix.BPF_JA
)

func (a answer) step(*program) step { return step{code: opAnswer, k: uint32(a)} }

func (l look) step(p *program) step {
	return step{code: opLook, k: l.offset, mask: l.mask, yes: p.write(l.next)}
}

func (b branch) step(p *program) step {
	return step{code: opBranch | b.op, k: b.k, yes: p.write(b.yes), no: p.write(b.no)}
}

func (p *program) emit(s step) {
	switch s.code {
	case opAnswer:
		p.add(s.code, s.k)
	case opLook:
		p.bring(s.yes, 0)
		if s.mask != whole {
			p.add(opMask, s.mask)
		}
		p.add(s.code, s.k)
	default:
		p.bring(s.yes, reach)
		p.bring(s.no, reach)
		p.code = append(p.code, unix.SockFilter{Code: s.code, K: s.k, Jt: uint8(p.skipped(s.yes)), Jf: uint8(p.skipped(s.no))})
	}
}

// reach is how many instructions a branch can skip, less the jump that its other side
// may put in between.
const reach = 255 - 1

// bring puts a jump to what is written where it is further away than most, and has
// whoever comes later take it, too.
func (p *program) bring(id, most int) {
	if skipped := p.skipped(id); skipped > most {
		p.add(opJump, uint32(skipped))
		p.at[id] = len(p.code) - 1
	}
}

// skipped is how many instructions the next one would skip to come to a step.
func (p *program) skipped(id int) int { return len(p.code) - 1 - p.at[id] }

func (p *program) add(code uint16, k uint32) {
	p.code = append(p.code, unix.SockFilter{Code: code, K: k})
}
