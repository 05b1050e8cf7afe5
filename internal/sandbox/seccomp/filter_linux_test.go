//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/durward/durward"
)

var update = flag.Bool("update", false, "write the golden files anew")

// policies are all that differ, and two that stand for none.
var policies = []Policy{
	{},
	{Unix: true},
	{Network: durward.NetLoopback},
	{Network: durward.NetLoopback, Unix: true},
	{Network: durward.NetFull},
	{Network: durward.NetFull, Unix: true},
	{Network: durward.NetAllowlist},
	{Network: durward.NetNone},
	{Network: "a word nobody knows"},
}

// A change here is a change of the name, which is part of the file's own.
func TestTheRulesAreTheseOnes(t *testing.T) {
	var b strings.Builder
	for i, p := range policies[:6] {
		fmt.Fprintf(&b, "# network %q, unix %v\n", p.Network, p.Unix)
		for line := range strings.Lines(Compile(p).String()) {
			if i == 0 || strings.Contains(line, "sockets:") {
				b.WriteString(line)
			}
		}
	}
	file := filepath.Join("testdata", Compile(Policy{}).Name()+"."+archName)
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the rules are not those of %s:\n%s", file, b.String())
	}
}

func TestRulesAreNotMadeLooserByAnUnknownNetwork(t *testing.T) {
	strict := Compile(Policy{}).String()
	for _, p := range policies[7:] {
		if got := Compile(p).String(); got != strict {
			t.Errorf("network %q has rules of its own:\n%s", p.Network, got)
		}
	}
}

func TestNoCallIsInTwoRules(t *testing.T) {
	seen := map[uint32]string{}
	for _, r := range (Policy{}).rules() {
		for _, c := range r.calls {
			if other, twice := seen[c.nr]; twice {
				t.Errorf("%s and %s are both call %d", other, c.name, c.nr)
			}
			seen[c.nr] = c.name
		}
	}
}

func TestEveryRefusedCallIsNamedByItsName(t *testing.T) {
	want := maps.Clone(refusedCalls)
	maps.Copy(want, refusedHere)
	got := map[string]uintptr{}
	for _, r := range (Policy{}).rules() {
		if r.answer == refused && r.only == nil && r.unless == nil && r.about != "sockets" {
			for _, c := range r.calls {
				got[c.name] = uintptr(c.nr)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("refused are %v, want %v", got, want)
	}
}

func TestBytesAreTheProgram(t *testing.T) {
	f := Compile(Policy{})
	program := f.Program()
	lies := unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(program)*int(unsafe.Sizeof(program[0])))
	if got := f.Bytes(); !slices.Equal(got, lies) {
		t.Errorf("bytes are %x, in memory they are %x", got, lies)
	}
	program[0] = unix.SockFilter{}
	if f.Program()[0] == program[0] {
		t.Error("a filter changes with a program that it gave away")
	}
}

// fatal is what a test and a property have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// A machine runs a filter as the kernel does.
type machine struct{ vm *bpf.VM }

func newMachine(t fatal, program []unix.SockFilter) machine {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(program))
	for i, p := range program {
		raw[i] = bpf.RawInstruction{Op: p.Code, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	instructions, known := bpf.Disassemble(raw)
	if !known {
		t.Fatalf("the program has instructions that nobody knows: %v", instructions)
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm}
}

// run lays the words of the call out as the kernel does, but each in the order of bytes
// of a packet.
func (m machine) run(t fatal, c asked) answer {
	words := []uint32{c.nr, c.arch, 0x1234, 0x5678}
	for _, a := range c.args {
		words = append(words, uint32(a), uint32(a>>32))
	}
	data := make([]byte, 0, 64)
	for _, w := range words {
		data = binary.BigEndian.AppendUint32(data, w)
	}
	n, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return answer(n)
}

func check(t fatal, p Policy, m machine, c asked) {
	t.Helper()
	if got, want := m.run(t, c), expected(p, c); got != want {
		t.Fatalf("network %q, unix %v: call %d of %#x with %#x: %#x, want %#x", p.Network, p.Unix, c.nr, c.arch, c.args, uint32(got), uint32(want))
	}
}

// telling are halves of arguments on which something depends somewhere, and their
// neighbours.
var telling = []uint32{
	0, 1, 2, 3, 5, 6, 8, 0xf, 0x10, 0x11, 0x20, 16, 17, 38, 40, 132, 255, 262,
	0o644, 0o1777, 0o2000, 0o4000, 0o6755, unix.O_CREAT, unix.O_TMPFILE, unix.O_DIRECTORY, unix.O_CREAT | unix.O_EXCL | unix.O_RDWR,
	unix.TIOCSTI, unix.TIOCSTI + 1, unix.TIOCLINUX, unix.TCGETS,
	unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, unix.SOCK_RAW | unix.SOCK_CLOEXEC,
	unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC, unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET,
	unix.CLONE_NEWTIME, unix.CLONE_VM | unix.CLONE_VFORK | uint32(unix.SIGCHLD), 0x7fffffff, 0x80000000, 0xffffffff,
}

func TestFilterIsWhatThePlainWordsSay(t *testing.T) {
	machines := map[Policy]machine{}
	for _, p := range policies {
		machines[p] = newMachine(t, Compile(p).Program())
	}
	half := rapid.OneOf(rapid.SampledFrom(telling), rapid.Uint32())
	number := rapid.OneOf(rapid.Uint32Range(0, 512), rapid.SampledFrom(numbersOf(policies[0].rules())), rapid.Uint32())
	call := rapid.Custom(func(t *rapid.T) asked {
		c := asked{nr: number.Draw(t, "number"), arch: rapid.OneOf(rapid.Just(uint32(arch)), rapid.Uint32()).Draw(t, "arch")}
		for i := range c.args {
			c.args[i] = uint64(half.Draw(t, "low")) | uint64(half.Draw(t, "high"))<<32
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(policies).Draw(t, "policy")
		for _, c := range rapid.SliceOfN(call, 1, 50).Draw(t, "calls") {
			check(t, p, machines[p], c)
		}
	})
}

func numbersOf(rules []rule) []uint32 {
	var numbers []uint32
	for _, r := range rules {
		for _, s := range r.numbers() {
			numbers = append(numbers, s.first-1, s.first, s.first+1, s.last-1, s.last, s.last+1)
		}
	}
	return numbers
}

func TestEveryNumberIsAnsweredAsItShould(t *testing.T) {
	for _, p := range policies[:6] {
		m := newMachine(t, Compile(p).Program())
		for _, nr := range everyNumber() {
			check(t, p, m, asked{nr: nr, arch: arch})
		}
		for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64, 0} {
			for _, nr := range []uint32{0, unix.SYS_CLONE3, unix.SYS_MOUNT, 0x40000000, 0xffffffff} {
				check(t, p, m, asked{nr: nr, arch: arch})
			}
		}
	}
}

// everyNumber gives all there are, and those around each place where the meaning changes.
func everyNumber() []uint32 {
	var numbers []uint32
	for _, bits := range []uint32{0, 0x40000000, 0x80000000, 0xc0000000} {
		for nr := range uint32(600) {
			numbers = append(numbers, bits+nr, bits-nr)
		}
	}
	return numbers
}

func TestEveryPairOfTellingArguments(t *testing.T) {
	m := newMachine(t, Compile(Policy{}).Program())
	for _, r := range (Policy{}).rules() {
		if r.only == nil && r.unless == nil {
			continue
		}
		for _, c := range r.calls {
			checkPairs(t, m, c.nr)
		}
	}
}

func checkPairs(t *testing.T, m machine, nr uint32) {
	for _, a := range telling {
		for _, b := range telling {
			for at := range 3 {
				c := asked{nr: nr, arch: arch}
				c.args[at], c.args[at+1] = 0xdead<<32|uint64(a), uint64(b)
				check(t, Policy{}, m, c)
			}
		}
	}
}

func TestEverySocket(t *testing.T) {
	protocols := []uint64{0, 1, 2, 6, 17, 58, 132, 255, 262, 1<<32 | 6}
	for _, p := range policies[:6] {
		m := newMachine(t, Compile(p).Program())
		for family := range uint64(unix.AF_MAX) {
			for kind := range uint64(16) {
				for _, flags := range []uint64{0, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
					for _, protocol := range protocols {
						args := [6]uint64{family, kind | flags, protocol}
						check(t, p, m, asked{nr: unix.SYS_SOCKET, arch: arch, args: args})
						check(t, p, m, asked{nr: unix.SYS_SOCKETPAIR, arch: arch, args: args})
					}
				}
			}
		}
	}
}

func TestPathsGrowWithTheLogarithm(t *testing.T) {
	for _, p := range policies {
		f := Compile(p)
		calls := 0
		for _, r := range f.rules {
			calls += len(r.numbers())
		}
		log := math.Log2(float64(calls))
		byNumber, inAll := longest(f.program, true), longest(f.program, false)
		t.Logf("network %q, unix %v: %d instructions for %d calls; %d steps to a call, %d with its arguments", p.Network, p.Unix, len(f.program), calls, byNumber, inAll)
		if most := log + 7; float64(byNumber) > most {
			t.Errorf("%d steps to know a call among %d, want at most %.1f", byNumber, calls, most)
		}
		if most := 2*log + 16; float64(inAll) > most {
			t.Errorf("%d steps to an answer, want at most %.1f", inAll, most)
		}
	}
}

// longest is the number of instructions on the longest path, before the first look at
// an argument if so asked.
func longest(program []unix.SockFilter, byNumber bool) int {
	steps := make([]int, len(program))
	for at, i := range slices.Backward(program) {
		switch i.Code & 7 {
		case unix.BPF_RET:
			steps[at] = 1
		case unix.BPF_JMP:
			skip := [2]int{int(i.Jt), int(i.Jf)}
			if i.Code == opJump {
				skip = [2]int{int(i.K), int(i.K)}
			}
			steps[at] = 1 + max(steps[at+1+skip[0]], steps[at+1+skip[1]])
		case unix.BPF_LD:
			if !byNumber || i.K < offsetArgs {
				steps[at] = 1 + steps[at+1]
			}
		default:
			steps[at] = 1 + steps[at+1]
		}
	}
	return steps[0]
}

func TestAnyDecisionIsAssembled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Uint32Range(1, 4000), 1, 8).Draw(t, "answers")
		froms := append(rapid.SliceOfNDistinct(rapid.Uint32(), 1, 900, rapid.ID).Draw(t, "numbers"), 0)
		slices.Sort(froms)
		var edges []edge
		for i, from := range slices.Compact(froms) {
			edges = append(edges, edge{from, answerOrLook(answers, i)})
		}
		checkEdges(t, edges)
	})
}

func TestBranchesReachAcrossALongProgram(t *testing.T) {
	for _, n := range []int{1, 2, 126, 127, 128, 129, 253, 254, 255, 256, 257, 300, 1000, 1900} {
		var distinct, shared []edge
		for i := range n {
			distinct = append(distinct, edge{uint32(3 * i), errorOf(uint32(i))})
			shared = append(shared, edge{uint32(3 * i), answerOrLook([]uint32{1, 2, 3}, i)})
		}
		checkEdges(t, distinct)
		checkEdges(t, shared)
	}
}

// An edge decides all numbers from it on, the last one too.
func TestEdgesAtTheEnds(t *testing.T) {
	a, b, c := errorOf(1), errorOf(2), errorOf(3)
	for _, edges := range [][]edge{
		{{0, a}},
		{{0, a}, {1, b}},
		{{0, a}, {1, b}, {2, a}},
		{{0, a}, {math.MaxUint32 - 1, b}},
		{{0, a}, {math.MaxUint32, b}},
		{{0, a}, {math.MaxUint32 - 1, b}, {math.MaxUint32, a}},
		{{0, a}, {5, b}, {6, a}, {9, c}, {10, a}, {math.MaxUint32, c}},
		{{0, b}, {1, a}, {math.MaxUint32 - 1, b}, {math.MaxUint32, c}},
	} {
		checkEdges(t, edges)
	}
}

// A number that is decided otherwise than those around it takes one comparison.
func TestALoneNumberIsCompared(t *testing.T) {
	a, b := errorOf(1), errorOf(2)
	if got, want := tree([]edge{{0, a}, {7, b}, {8, a}}, allNumbers), node(branch{unix.BPF_JEQ, 7, b, a}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Both sides of the last branch were written before what stands between.
func TestBothSidesOfABranchAreFarAway(t *testing.T) {
	one, two := errorOf(1), errorOf(2)
	between := node(errorOf(3))
	for range 300 {
		between = look{offsetArgs, whole, between}
		for _, last := range []branch{{unix.BPF_JEQ, 7, one, two}, {unix.BPF_JEQ, 7, two, one}} {
			far := branch{unix.BPF_JEQ, 0, branch{unix.BPF_JEQ, 1, branch{unix.BPF_JEQ, 2, one, two}, between}, last}
			checkDecision(t, look{offsetNumber, whole, far}, []uint32{0, 1, 2, 7, 8})
		}
	}
}

func errorOf(n uint32) answer { return answer(unix.SECCOMP_RET_ERRNO | n) }

// answerOrLook has some looks among the answers, which stand in for what is longer than
// one instruction.
func answerOrLook(answers []uint32, i int) node {
	a := errorOf(answers[i%len(answers)])
	if i%5 != 4 {
		return a
	}
	return look{offsetArgs, 0xff, branch{unix.BPF_JEQ, uint32(i % 3), allow, a}}
}

func checkEdges(t fatal, edges []edge) {
	t.Helper()
	var numbers []uint32
	for _, e := range edges {
		numbers = append(numbers, e.from-1, e.from)
	}
	checkDecision(t, look{offsetNumber, whole, tree(edges, allNumbers)}, numbers)
}

func checkDecision(t fatal, n node, numbers []uint32) {
	t.Helper()
	m := newMachine(t, assemble(n))
	for _, nr := range numbers {
		for low := range uint64(3) {
			c := asked{nr: nr, args: [6]uint64{0xf00 | low}}
			if got, want := m.run(t, c), follow(n, c, 0); got != want {
				t.Fatalf("number %d: %#x, want %#x", nr, uint32(got), uint32(want))
			}
		}
	}
}

// follow takes the decision as it stands.
func follow(n node, c asked, word uint32) answer {
	switch n := n.(type) {
	case look:
		word = c.nr
		if n.offset == offsetArgs {
			word = uint32(c.args[0])
		}
		return follow(n.next, c, word&n.mask)
	case branch:
		if word == n.k || n.op == unix.BPF_JGE && word > n.k {
			return follow(n.yes, c, word)
		}
		return follow(n.no, c, word)
	}
	return n.(answer)
}
