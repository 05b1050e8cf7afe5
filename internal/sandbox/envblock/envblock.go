// Package envblock writes an environment as Windows takes it: UTF-16 strings "NAME=value",
// each ended by a zero, in the order of their names, and one more zero behind the last.
package envblock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Of gives the block of an environment. A variable that would read as another one, or
// as two, is an error: one without a name or "=", with a NUL, that is not text, or whose
// name stands there twice, in whatever case.
func Of(env []string) ([]uint16, error) {
	for _, v := range env {
		if strings.IndexByte(v, '=') < 1 || strings.ContainsRune(v, 0) || !utf8.ValidString(v) {
			return nil, fmt.Errorf("%q is no variable of an environment", v)
		}
	}
	sorted := slices.SortedFunc(slices.Values(env), func(a, b string) int { return cmp.Compare(name(a), name(b)) })
	block := []uint16{}
	for i, v := range sorted {
		if i > 0 && name(v) == name(sorted[i-1]) {
			return nil, fmt.Errorf("%s stands in the environment twice", name(v))
		}
		block = append(append(block, utf16.Encode([]rune(v))...), 0)
	}
	if len(block) == 0 {
		block = append(block, 0) // an empty one has two zeros, too
	}
	return append(block, 0), nil
}

// name gives the name of a variable in the case by which Windows compares.
func name(variable string) string {
	n, _, _ := strings.Cut(variable, "=")
	return strings.ToUpper(n)
}
