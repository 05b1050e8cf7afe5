package mcp

import (
	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// What a session holds is bounded by budgets of bytes. A call weighs something in each
// even if it is small, so that they bound the number of calls, too.
const (
	// maxTaken bounds the requests that are calls and are not answered yet. One more is
	// refused: the loop does not wait.
	maxTaken, leastTaken = 128 << 20, maxTaken / maxCalls
	maxCalls             = 1024
	// maxFiles bounds what the calls that read and write files may hold at once, as it will
	// be answered, and maxCommands what commands may have printed. Further calls wait.
	maxFiles, maxCommands = 64 << 20, 32 << 20
	maxAtOnce             = 256
	leastFile             = maxFiles / maxAtOnce
	// mostInAnswer is how many bytes of an answer one of a file may take: a control
	// character becomes \u0000. Few files are like that: so many calls begin at once all the
	// same, each of which may come to more than it weighed before.
	mostInAnswer = 6
	leastReads   = 8
	// maxAnswers bounds the answers to calls that the client has not taken. While there is
	// no room, calls that are over keep their place, so that those behind them do not begin.
	maxAnswers = 32 << 20
	// maxBatch bounds the messages of a batch, and maxBatchBytes the answers to its calls:
	// they are kept until the last is there. So many batches with calls are open at once.
	maxBatch, maxBatchBytes, maxBatches = 64, 8 << 20, 4
)

// budgets are those of a session.
type budgets struct {
	taken, files, commands, answers, batches *budget
	making                                   *budget // one answer is made at a time
}

func newBudgets() budgets {
	return budgets{
		taken: &budget{most: maxTaken}, files: &budget{most: maxFiles}, commands: &budget{most: maxCommands},
		answers: &budget{most: maxAnswers}, batches: &budget{most: maxBatches * maxBatchBytes}, making: &budget{most: 1},
	}
}

// place asks for the place of a call among those that are carried out. A call that the core
// will refuse for what it says needs none.
func (b *budgets) place(inv invocation) *part {
	switch {
	case inv.bad != nil:
		return nil
	case inv.call.Tool == cmdRun:
		return b.commands.ask(max(inv.surface.mayPrint(inv.call.CommandID), maxCommands/maxAtOnce))
	case inv.call.Tool == fsWrite:
		return b.files.ask(max(2*int64(len(inv.input)), leastFile)) // the text, and its bytes
	}
	bytes := inv.surface.mayRead(inv.input)
	return b.files.ask(max(bytes, min(bytes*mostInAnswer, maxFiles/leastReads), leastFile))
}

// settle has a call that read a file weigh what it came to.
func (t task) settle(r durward.Result) {
	if t.reply.call.inv.short() {
		t.place.weigh(max(int64(len(r.Output)), leastFile))
	}
}

// mayPrint is what a command may print, though never so much that fewer could run at once
// than the policy wants.
func (s Surface) mayPrint(id string) int64 {
	for _, c := range s.Commands {
		if c.ID == id {
			return min(c.MaxOutputBytes, maxCommands/max(1, s.MaxCommands))
		}
	}
	return 0
}

// mayRead is how much of a file an input of fs.read asks for at most.
func (s Surface) mayRead(input []byte) int64 {
	if s.MaxReadBytes == 0 {
		return maxFiles
	}
	if jsonx.Member(input, "offset") == nil && jsonx.Member(input, "length") == nil {
		return s.MaxReadBytes
	}
	var window struct {
		Offset int64  `json:"offset"`
		Length *int64 `json:"length"`
	}
	if decode(input, &window) != nil {
		return s.MaxReadBytes
	}
	left := max(0, s.MaxReadBytes-max(0, window.Offset))
	if window.Length == nil {
		return left
	}
	return min(left, max(0, *window.Length))
}

// busy refuses a call at once. No word of the protocol fits better than that of one that
// waited in vain.
func busy() error {
	return &durward.Error{Reason: durward.QueueFull, Op: Name, Rule: "concurrency", Retry: true, Hint: "wait for answers before you send more"}
}
