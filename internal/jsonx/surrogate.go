package jsonx

import "bytes"

// WholeCharacters gives a text of JSON in which escapes of half a surrogate pair stand for U+FFFD:
//
//	"\ud83d and text"   →   "\ufffd and text"
//
// Programs write such halves that cut a text between two units of UTF-16. All else stays to the byte,
// and where there are none the text itself is given. What is no JSON stays none.
func WholeCharacters(text []byte) []byte {
	whole := text
	for i := 0; i < len(text); {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return whole
		}
		i += next
		unit, ok := unitAt(text, i)
		switch low, paired := unitAt(text, i+unitBytes); {
		case !ok:
			i += len(`\n`)
		case unit < 0xD800 || unit > 0xDFFF:
			i += unitBytes
		case unit < 0xDC00 && paired && low >= 0xDC00 && low <= 0xDFFF:
			i += 2 * unitBytes
		default:
			if &whole[0] == &text[0] {
				whole = bytes.Clone(text)
			}
			i += copy(whole[i:], `\ufffd`)
		}
	}
	return whole
}

// unitBytes is the length of an escape such as \u00df.
const unitBytes = len(`\u0000`)

// unitAt reads the escape of a code unit that stands at a place.
func unitAt(text []byte, at int) (unit int, ok bool) {
	if len(text)-at < unitBytes || text[at] != '\\' || text[at+1] != 'u' {
		return 0, false
	}
	s := scanner{data: text, at: at + 1}
	return s.codeUnit()
}
