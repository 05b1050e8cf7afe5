package jsonx

import "encoding/binary"

// plain counts the bytes before the first that may not stand in a string as it is, or is no
// printable ASCII. Texts are mostly plain, and are looked at eight bytes at a time.
func plain(text []byte) int {
	n := 0
	for len(text)-n >= 8 && !maybeOdd(binary.LittleEndian.Uint64(text[n:])) {
		n += 8
	}
	for n < len(text) && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\' {
		n++
	}
	return n
}

// maybeOdd reports whether one of eight bytes may not be plain. A byte may carry into the one
// behind it, but only if it is one of those itself.
func maybeOdd(eight uint64) bool {
	const each, top = 0x0101010101010101, 0x8080808080808080
	quote, backslash := eight^each*'"', eight^each*'\\'
	return (eight|(eight+each)|(eight-each*' ')|(quote-each)|(backslash-each))&top != 0
}
