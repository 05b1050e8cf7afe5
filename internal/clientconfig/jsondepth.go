package clientconfig

import "bytes"

// mostDeep bounds how lists and objects stand inside each other, which the parser follows on its stack.
const mostDeep = 1000

// tooDeep gives the first bracket that stands deeper than that in a text, or -1.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if depth++; depth > mostDeep {
				return i
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i = commentEnd(text, i)
		}
	}
	return -1
}

// commentEnd gives the last byte of the comment that begins at i, or i where none does.
func commentEnd(text []byte, i int) int {
	mark := "\n"
	switch {
	case bytes.HasPrefix(text[i:], []byte("/*")):
		mark = "*/"
	case !bytes.HasPrefix(text[i:], []byte("//")):
		return i
	}
	end := bytes.Index(text[i+2:], []byte(mark))
	if end < 0 {
		return len(text)
	}
	return i + 2 + end + len(mark) - 1
}
