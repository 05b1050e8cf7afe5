package schema

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// A constant is a value of a schema.
type constant struct {
	tree *tree
	node int32
}

// equal reports whether two values are the same: numbers by what they are worth, members in
// any order.
func equal(a *tree, i int32, b *tree, j int32) bool {
	x, y := &a.nodes[i], &b.nodes[j]
	if x.kind != y.kind || x.count != y.count {
		return false
	}
	switch x.kind {
	case null:
		return true
	case boolean:
		return a.text[x.from] == b.text[y.from]
	case number:
		return parseDecimal(a.raw(i)).equals(parseDecimal(b.raw(j)))
	case text:
		return bytes.Equal(a.says(i), b.says(j))
	case array:
		return equalItems(a, i, b, j)
	}
	return equalMembers(a, i, b, j)
}

func equalItems(a *tree, i int32, b *tree, j int32) bool {
	past := a.nodes[i].past
	for i, j = i+1, j+1; i < past; i, j = a.nodes[i].past, b.nodes[j].past {
		if !equal(a, i, b, j) {
			return false
		}
	}
	return true
}

// fewMembers is how many are looked for one by one.
const fewMembers = 16

func equalMembers(a *tree, i int32, b *tree, j int32) bool {
	find := func(name []byte) int32 { return b.member(j, string(name)) }
	if b.nodes[j].count > fewMembers {
		byName := make(map[string]int32, b.nodes[j].count)
		for at := j + 1; at < b.nodes[j].past; at = b.nodes[at].past {
			byName[string(b.name(at))] = at
		}
		find = func(name []byte) int32 {
			if at, ok := byName[string(name)]; ok {
				return at
			}
			return none
		}
	}
	for at := i + 1; at < a.nodes[i].past; at = a.nodes[at].past {
		other := find(a.name(at))
		if other == none || !equal(a, at, b, other) {
			return false
		}
	}
	return true
}

// seed keeps anybody from choosing values whose hashes meet.
var seed = sync.OnceValue(maphash.MakeSeed)

// hash gives equal values the same number.
func hash(t *tree, n int32) uint64 {
	at := &t.nodes[n]
	var b []byte
	switch at.kind {
	case number:
		d := parseDecimal(t.raw(n))
		b = binary.BigEndian.AppendUint64(b, uint64(d.exp))
		b = append(append(b, byte(d.sign()+1)), d.digits...)
	case text:
		b = t.says(n)
	case boolean:
		b = t.raw(n)
	case array:
		for i := n + 1; i < at.past; i = t.nodes[i].past {
			b = binary.BigEndian.AppendUint64(b, hash(t, i))
		}
	case object:
		var sum uint64 // in any order
		for i := n + 1; i < at.past; i = t.nodes[i].past {
			member := binary.BigEndian.AppendUint64(nil, hash(t, i))
			sum += maphash.Bytes(seed(), append(member, t.name(i)...))
		}
		b = binary.BigEndian.AppendUint64(b, sum)
	}
	return maphash.Bytes(seed(), append([]byte{byte(at.kind)}, b...))
}

// twice finds two values of an array that are the same, the first that is a repetition.
func twice(t *tree, n int32) (first, second int32, found bool) {
	seen := make(map[uint64][]int32) // most repetitions stand near the beginning
	for i := n + 1; i < t.nodes[n].past; i = t.nodes[i].past {
		h := hash(t, i)
		for _, j := range seen[h] {
			if equal(t, i, t, j) {
				return j, i, true
			}
		}
		seen[h] = append(seen[h], i)
	}
	return 0, 0, false
}
