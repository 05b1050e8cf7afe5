package execclient

import (
	"maps"
	"slices"
	"sync"

	"github.com/durward/durward/execserver/protocol"
)

const (
	// heldBytes is how much output of a process is held for a reader. What comes beyond
	// is left with the server, and asked for when the reader gets there. The window of a
	// process with flow fits in.
	heldBytes = 2 * protocol.FlowBytes
	// heldChunks is how many pieces of it are held.
	heldChunks = 2 * protocol.FlowChunks
)

// Output is a piece of what a process put out.
type Output struct {
	Seq    uint64 // grows; exit and close have numbers, too
	Stream protocol.Stream
	Data   []byte
}

// Exit is how a process ended.
type Exit struct {
	Code          int  // 128+N for signal N
	SandboxDenied bool // it looks as if the sandbox was what failed it
}

// An inbox puts in order what comes from a process, by two ways that overlap:
// notifications, and answers to process/read.
type inbox struct {
	mu       sync.Mutex
	next     uint64           // guarded by mu; everything below was given out, or is no output
	held     map[uint64]piece // guarded by mu; none below next
	bytes    int              // guarded by mu; sum of held
	gaps     []span           // guarded by mu; what is lost from next on, in order
	resolved uint64           // guarded by mu; what is not held below it is no output
	end      uint64           // guarded by mu; the number at which nothing follows; 0 while unknown
	exit     *Exit            // guarded by mu; nil while unknown
	exitSeq  uint64           // guarded by mu; 0 while unknown
	exitRead bool             // guarded by mu; an answer told of the exit, so its number is below resolved
	behind   bool             // guarded by mu; something is not held that has to be asked for
	misses   uint64           // guarded by mu; how often behind was set
	unacked  int              // guarded by mu; bytes given out since acked
	acked    uint64           // guarded by mu; what the server was told last
	changed  chan struct{}    // guarded by mu; closed and replaced at each change
}

type piece struct {
	stream protocol.Stream
	data   []byte
}

// A span is the numbers from first to last.
type span struct{ first, last uint64 }

// newInbox makes one for what comes after a number.
func newInbox(after uint64) *inbox {
	return &inbox{next: after + 1, acked: after, held: make(map[uint64]piece), changed: make(chan struct{})}
}

// output takes a notification of output.
func (in *inbox) output(seq uint64, stream protocol.Stream, data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer in.changeLocked()
	full := in.bytes+len(data) > heldBytes || len(in.held) >= heldChunks
	if full && seq != in.next {
		in.missedLocked()
		return
	}
	in.holdLocked(seq, stream, data)
}

func (in *inbox) holdLocked(seq uint64, stream protocol.Stream, data []byte) {
	if _, twice := in.held[seq]; twice || seq < in.next {
		return
	}
	in.held[seq] = piece{stream, data}
	in.bytes += len(data)
}

// exited takes the notification of the exit.
func (in *inbox) exited(seq uint64, e Exit) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.exit, in.exitSeq = &e, seq
	in.changeLocked()
}

// closed takes the notification of the close. Servers that give it no number close after
// everything else has been sent.
func (in *inbox) closed(seq *uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if seq == nil {
		last := max(in.next-1, in.exitSeq, slices.Max(append(slices.Collect(maps.Keys(in.held)), 0)))
		seq = &last
		*seq++
	}
	in.end = *seq
	in.changeLocked()
}

// missed notes that notifications may have been missed.
func (in *inbox) missed() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.missedLocked()
	in.changeLocked()
}

func (in *inbox) missedLocked() {
	in.behind = true
	in.misses++
}

func (in *inbox) changeLocked() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// A step is what a reader has to do next.
type step int

const (
	stepGive step = iota // give out what was found
	stepGap              // tell of a gap
	stepEnd              // tell of the end
	stepAsk              // ask the server
	stepWait             // wait for a change
)

// A found is what an inbox has for its reader.
type found struct {
	step    step
	output  Output          // for stepGive
	gap     span            // for stepGap
	hole    bool            // for stepWait: something later is there already
	changed <-chan struct{} // for stepWait
}

// take finds the next piece and takes it out.
func (in *inbox) take() found {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		p, there := in.held[in.next]
		switch {
		case there:
			return in.giveLocked(p)
		case len(in.gaps) > 0 && in.gaps[0].first == in.next:
			return in.gapLocked()
		case in.end != 0 && in.next >= in.end:
			return found{step: stepEnd}
		case in.next == in.exitSeq:
			in.next++
		case in.next < in.resolved:
			in.skipLocked()
		case in.behind:
			return found{step: stepAsk}
		default:
			return found{step: stepWait, hole: len(in.held) > 0 || in.end != 0, changed: in.changed}
		}
	}
}

func (in *inbox) giveLocked(p piece) found {
	out := Output{Seq: in.next, Stream: p.stream, Data: p.data}
	delete(in.held, in.next)
	in.bytes -= len(p.data)
	in.unacked += len(p.data)
	in.passLocked(in.next)
	return found{step: stepGive, output: out}
}

// gapLocked takes a gap out, up to what came after all.
func (in *inbox) gapLocked() found {
	gap := in.gaps[0]
	for seq := range in.held {
		if seq <= gap.last {
			gap.last = seq - 1
		}
	}
	in.passLocked(gap.last)
	return found{step: stepGap, gap: gap}
}

// passLocked goes on behind a number.
func (in *inbox) passLocked(seq uint64) {
	in.next = seq + 1
	if len(in.gaps) == 0 || in.gaps[0].first > seq {
		return
	}
	if in.gaps[0].first = in.next; in.next > in.gaps[0].last {
		in.gaps = in.gaps[1:]
	}
}

// skipLocked goes to the next number that stands for something.
func (in *inbox) skipLocked() {
	to := in.resolved
	for seq := range in.held {
		to = min(to, seq)
	}
	if len(in.gaps) > 0 {
		to = min(to, in.gaps[0].first)
	}
	in.next = to
}

// cursor gives what to ask for, and what [inbox.answered] wants to know about it.
func (in *inbox) cursor() (after, misses uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.next - 1, in.misses
}

// answered takes the answer to a process/read without maxBytes, which tells of every
// number from after to its next. Numbered says whether the server numbers closes.
func (in *inbox) answered(after, misses uint64, r protocol.ReadResult, numbered bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	defer in.changeLocked()
	for _, c := range r.Chunks {
		in.holdLocked(c.Seq, c.Stream, c.Chunk)
	}
	in.lostLocked(after, r, numbered)
	in.exitRead = in.exitRead || r.Exited
	in.resolved = max(in.resolved, r.NextSeq)
	if r.Exited && r.ExitCode != nil && in.exit == nil {
		in.exit = &Exit{Code: *r.ExitCode, SandboxDenied: r.SandboxDenied}
	}
	if r.Closed {
		in.end = r.NextSeq
	}
	if in.misses == misses {
		in.behind = false
	}
}

// lostLocked notes what is missing before the first chunk of an answer. Servers drop
// the oldest, so numbers missing behind it are the exit and the close; an exit that is
// not there has to be among those before.
func (in *inbox) lostLocked(after uint64, r protocol.ReadResult, numbered bool) {
	if len(r.Chunks) == 0 {
		return
	}
	missing, total := in.missingLocked(after+1, r.Chunks[0].Seq)
	if total == 1 && r.Exited && in.exitSeq == 0 && !in.exitRead && !exitFollows(r, numbered) {
		in.exitSeq = missing[0].first
		return
	}
	in.gaps = missing
}

// missingLocked gives the numbers from first up to before that are neither held nor the
// exit, and how many they are.
func (in *inbox) missingLocked(first, before uint64) (missing []span, total uint64) {
	known := slices.DeleteFunc(append(slices.Collect(maps.Keys(in.held)), in.exitSeq), func(seq uint64) bool {
		return seq < first || seq >= before
	})
	slices.Sort(known)
	for _, seq := range append(known, before) {
		if seq > first {
			missing = append(missing, span{first, seq - 1})
			total += seq - first
		}
		first = seq + 1
	}
	return missing, total
}

// exitFollows reports whether the exit is behind the first chunk of an answer.
func exitFollows(r protocol.ReadResult, numbered bool) bool {
	span := r.NextSeq - r.Chunks[0].Seq
	if r.Closed && numbered {
		span--
	}
	return span > uint64(len(r.Chunks))
}

// ended gives the exit, if it is known.
func (in *inbox) ended() (Exit, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.exit == nil {
		return Exit{}, false
	}
	return *in.exit, true
}

// due gives the number to acknowledge when so much was given out that the server should
// hear of it, long before its window is full.
func (in *inbox) due() (seq uint64, now bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	seq = in.next - 1
	return seq, in.unacked >= protocol.FlowBytes/4 || seq-in.acked >= protocol.FlowChunks/4
}

// taken gives the number up to which everything was given out, to acknowledge it.
func (in *inbox) taken() uint64 {
	seq, _ := in.due()
	return seq
}

// toldTo notes that the server was told of a number.
func (in *inbox) toldTo(seq uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if seq > in.acked {
		in.acked, in.unacked = seq, 0
	}
}
