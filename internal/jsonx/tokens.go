package jsonx

import "iter"

// A Token is one piece of a text: text[From:To].
type Token struct {
	// Kind is the first byte of the token, or 'n' for null, 't' and 'f' for booleans, '0' for a
	// number, and 'k' for the name of a member.
	Kind     byte
	From, To int
}

// Tokens goes once through a text that was checked, whatever its depth. It leaves out white
// space, commas and colons.
func Tokens(text []byte) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		var open []byte // the brackets that are open
		name := false   // a name is what comes next
		for at := skip(text, 0); at < len(text); at = skip(text, at) {
			t := Token{Kind: text[at], From: at, To: at + 1}
			switch c := text[at]; {
			case c == ',':
				name = open[len(open)-1] == '{'
				at++
				continue
			case c == ':':
				at++
				continue
			case c == '{' || c == '[':
				open, name = append(open, c), c == '{'
			case c == '}' || c == ']':
				open, name = open[:len(open)-1], false
			case c == '"':
				t.To = stringEnd(text, at)
				if name {
					t.Kind, name = 'k', false
				}
			default:
				t.To = scalarEnd(text, at)
				if c == '-' || isDigit(c) {
					t.Kind = '0'
				}
			}
			if at = t.To; !yield(t) {
				return
			}
		}
	}
}
