// Package toolsearch finds tools in a catalogue by what somebody wants to do.
//
//	index := toolsearch.New([]toolsearch.Entry{{Name: "read_file", Description: "Reads a file."}, …})
//	index.Find("show the contents of a file", 5)
//
// A tool is found by the words of its name (readFile, read_file and read-file have the same two),
// of its title and description, and of the members that its input schema has. A word of the query
// also finds longer ones that begin with it. Rare words count more than common ones, names more
// than descriptions, and short texts more than long ones (BM25).
//
// The texts are a stranger's: of each tool only the beginning of them is looked at, and so many
// words, so that none takes more than its share of time and memory.
package toolsearch

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// An Entry is a tool as its server tells of it.
type Entry struct {
	Name, Title, Description string
	// Schema is the input schema, or nil. One that is over 256 KiB, or no strict JSON, is passed
	// over.
	Schema json.RawMessage
}

// A Match is a tool that was found.
type Match struct {
	// Entry is the place of the tool in the catalogue.
	Entry int
	// Score is above 0, and higher for what fits better. It means nothing beside another query.
	Score float64
}

// An Index is a catalogue that was read. It never changes, and is safe for concurrent use.
type Index struct {
	names    []string
	terms    []string    // sorted
	postings [][]posting // by term
}

// A posting says that a tool has a term, and how much of it.
type posting struct {
	entry  int32
	weight float32
}

// The fields of a tool, in the order of the tables below.
const (
	inName = iota
	inTitle
	inText
	inMember
	inMemberText
	fields
)

var (
	// weights say what a word counts in a field.
	weights = [fields]float64{5, 3, 2, 1.5, 0.75}
	// lengths say how much the length of a field takes from that, from not at all to 1.
	lengths = [fields]float64{0.3, 0.5, 0.6, 0.3, 0.6}
)

const (
	// textBytes is what is looked at of one text, and mostTerms the words of one tool.
	textBytes = 4 << 10
	mostTerms = 256
	// exactly marks the term of a whole name, which no word begins with.
	exactly = "="
	// wholeName is what it counts to be called by the whole name.
	wholeName = 20
)

// New reads a catalogue. It keeps nothing of the descriptions and schemas.
func New(entries []Entry) *Index {
	x := &Index{names: make([]string, len(entries))}
	read := make([]words, len(entries))
	var total [fields]float64
	for i, e := range entries {
		x.names[i] = strings.Clone(e.Name)
		read[i] = wordsOf(e)
		for f, n := range read[i].count {
			total[f] += float64(n)
		}
	}
	places := map[string]int32{}
	for i := range read {
		for term, times := range read[i].times {
			at, known := places[term]
			if !known {
				at = int32(len(x.terms))
				places[term] = at
				x.terms, x.postings = append(x.terms, term), append(x.postings, nil)
			}
			weight := 0.0
			for f, n := range times {
				if n > 0 {
					long := float64(read[i].count[f]) * float64(len(entries)) / total[f] // beside the average
					weight += weights[f] * float64(n) / (1 - lengths[f] + lengths[f]*long)
				}
			}
			x.postings[at] = append(x.postings[at], posting{int32(i), float32(weight)})
		}
		read[i] = words{}
	}
	x.sort()
	return x
}

// sort puts the terms in order, for prefixes are ranges of it then.
func (x *Index) sort() {
	order := make([]int, len(x.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(x.terms[a], x.terms[b]) })
	terms, postings := make([]string, len(order)), make([][]posting, len(order))
	for to, from := range order {
		terms[to], postings[to] = x.terms[from], slices.Clip(x.postings[from])
	}
	x.terms, x.postings = terms, postings
}

const (
	// mostAsked is how many words of a query are looked for.
	mostAsked = 32
	// shortest is the length of the shortest word that finds longer ones, and mostLonger how many
	// of them.
	shortest   = 2
	mostLonger = 64
	// mostFound is how many tools are given at most.
	mostFound = 100
	// saturation is where more of one word hardly counts any more.
	saturation = 4
)

// Find gives the tools that fit best, no more than limit and no more than 100, the best first. Of equals the one whose
// name sorts first comes first, and then the one that stands first in the catalogue. Those that may
// refuses, by their places, are as if they were not there; nil refuses none.
func (x *Index) Find(query string, limit int, may func(entry int) bool) []Match {
	asked := wordsOfQuery(query)
	if limit <= 0 || len(asked) == 0 {
		return nil
	}
	total := make([]float64, len(x.names))
	found := make([]int32, len(x.names)) // how many words of the query a tool has
	best := make([]float64, len(x.names))
	var all, touched []int32
	for _, word := range asked {
		touched = x.look(word, best, touched[:0])
		for _, i := range touched {
			if found[i] == 0 {
				all = append(all, i)
			}
			found[i]++
			total[i] += best[i]
			best[i] = 0
		}
	}
	order := func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(x.names[a.Entry], x.names[b.Entry]), a.Entry-b.Entry)
	}
	limit = min(limit, mostFound)
	matches := make([]Match, 0, limit+1)
	for _, i := range all {
		if may != nil && !may(int(i)) {
			continue
		}
		covered := float64(found[i]) / float64(len(asked))
		m := Match{int(i), total[i] * (0.4 + 0.6*covered)}
		if len(matches) == limit && order(matches[limit-1], m) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(matches, m, order)
		matches = slices.Insert(matches, at, m)
		matches = matches[:min(len(matches), limit)]
	}
	return matches
}

// look notes in best what each tool has of one word, or of the longer one that fits it best, and
// gives the tools.
func (x *Index) look(word string, best []float64, touched []int32) []int32 {
	at, _ := slices.BinarySearch(x.terms, word)
	for longer := 0; at < len(x.terms) && longer <= mostLonger && strings.HasPrefix(x.terms[at], word); at++ {
		share := 1.0
		switch {
		case strings.HasPrefix(word, exactly):
			if x.terms[at] != word {
				return touched
			}
			share = wholeName
		case x.terms[at] != word:
			if len(word) < shortest {
				return touched
			}
			longer++
			share = 0.7 * float64(len(word)) / float64(len(x.terms[at]))
		}
		rare := math.Log1p((float64(len(x.names)-len(x.postings[at])) + 0.5) / (float64(len(x.postings[at])) + 0.5))
		for _, p := range x.postings[at] {
			w := float64(p.weight)
			score := share * rare * w * (saturation + 1) / (w + saturation)
			if best[p.entry] == 0 {
				touched = append(touched, p.entry)
			}
			best[p.entry] = max(best[p.entry], score)
		}
	}
	return touched
}
