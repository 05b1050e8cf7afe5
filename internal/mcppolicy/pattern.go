package mcppolicy

import (
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/durward/durward"
)

// A pattern accepts arguments.
type pattern struct {
	re *regexp.Regexp // of the whole argument
	// options is set when the pattern may accept what begins with a hyphen.
	options bool
	where   durward.Position
}

// admitsOptions reports whether every branch of a pattern begins with a literal hyphen,
// so that whoever wrote it meant options.
func admitsOptions(text string) bool {
	re, err := syntax.Parse(text, syntax.Perl)
	return err == nil && beginsWithHyphen(re)
}

func beginsWithHyphen(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Rune[0] == '-'
	case syntax.OpCapture, syntax.OpPlus:
		return beginsWithHyphen(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min > 0 && beginsWithHyphen(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(branch *syntax.Regexp) bool { return !beginsWithHyphen(branch) })
	case syntax.OpConcat:
		first := slices.IndexFunc(re.Sub, func(part *syntax.Regexp) bool {
			return part.Op != syntax.OpBeginText && part.Op != syntax.OpBeginLine && part.Op != syntax.OpEmptyMatch
		})
		return first >= 0 && beginsWithHyphen(re.Sub[first])
	}
	return false
}
