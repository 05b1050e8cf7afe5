package cli

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// canAsk reports whether somebody is there to answer.
func (p *program) canAsk() bool { return !p.noInput && isTerminal(p.stdin) }

// agrees asks a question and reports whether the answer is yes. All questions of a command share
// the reader of the answers.
func (p *program) agrees(question string, answers *bufio.Reader) bool {
	fmt.Fprintf(p.stderr, "%s [y/N] ", question)
	answer, err := answers.ReadString('\n')
	return err == nil && slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
