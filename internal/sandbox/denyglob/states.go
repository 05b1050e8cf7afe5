package denyglob

import "math/bits"

// States are the steps that the next name may be for: one bit for each.
type states []uint64

func (s states) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s states) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// next gives the first step from i on, or -1.
func (s states) next(i int) int {
	for word := i / 64; word < len(s); word, i = word+1, 0 {
		if rest := s[word] >> (i % 64); rest != 0 {
			return word*64 + i%64 + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

// meets reports whether both have a step.
func (s states) meets(t states) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// beyond reports whether s has a step that t lacks.
func (s states) beyond(t states) bool {
	for i := range s {
		if s[i]&^t[i] != 0 {
			return true
		}
	}
	return false
}
