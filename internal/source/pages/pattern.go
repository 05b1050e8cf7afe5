package pages

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxInstructions bounds the programs that all patterns of a page become: a few letters
// may become thousands of instructions.
const maxInstructions = 1 << 16

// Patterns are those of one page, each compiled once.
type patterns struct {
	known map[string]ToolPart
	size  int // of all, in instructions
}

func (p *patterns) part(text string) (ToolPart, error) {
	if part, ok := p.known[text]; ok {
		return part, nil
	}
	if err := p.weigh(text); err != nil {
		return ToolPart{}, err
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return ToolPart{}, err
	}
	part := ToolPart{Kind: Pattern, Text: text, pattern: compiled, bounded: isBounded(text)}
	if p.known == nil {
		p.known = map[string]ToolPart{}
	}
	p.known[text] = part
	return part, nil
}

// weigh adds the size of a pattern.
func (p *patterns) weigh(text string) error {
	if p.size <= maxInstructions {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return err
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return err
		}
		p.size += len(program.Inst)
	}
	if p.size > maxInstructions {
		return errors.New("the patterns of the page are too large together; repeat less in them")
	}
	return nil
}

// regexError says what is wrong with a pattern. What other engines have and this one
// does not is named as such.
func regexError(err error) string {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(e.Expr, look) {
			return fmt.Sprintf("look-around such as %s is not supported (the syntax is RE2)", look)
		}
	}
	return fmt.Sprintf("%s: %q (the syntax is RE2: no look-around, no back references)", e.Code, e.Expr)
}
