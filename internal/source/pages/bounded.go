package pages

import "regexp/syntax"

// isBounded reports whether every match of a pattern begins where the word begins and
// ends where it ends.
func isBounded(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && anchored(parsed, syntax.OpBeginText, false) && anchored(parsed, syntax.OpEndText, true)
}

// anchored reports whether each way through the expression meets the anchor at its
// first element, or at its last.
func anchored(re *syntax.Regexp, anchor syntax.Op, last bool) bool {
	switch re.Op {
	case anchor:
		return true
	case syntax.OpCapture:
		return anchored(re.Sub[0], anchor, last)
	case syntax.OpConcat:
		edge := re.Sub[0]
		if last {
			edge = re.Sub[len(re.Sub)-1]
		}
		return anchored(edge, anchor, last)
	case syntax.OpAlternate:
		for _, way := range re.Sub {
			if !anchored(way, anchor, last) {
				return false
			}
		}
		return true
	}
	return false
}
