package render

import "bytes"

// Bounds of what is laid out. Markdown can be written so that reading it takes the
// square of its length, or so that a table of empty cells is a thousand times as long
// as its source.
const (
	maxSourceBytes = 256 << 10
	maxHTMLBytes   = 4 << 20
	maxDepth       = 200      // of nodes within nodes
	maxMarkers     = 24       // of quotes and list items at the start of a line
	maxBlanks      = 100      // lines without text, one after the other
	maxCells       = 50_000   // of tables
	maxWork        = 64 << 20 // of looking for the ends of what begins
)

// cheap reports whether a document can be laid out in a moment. It errs on the other
// side where lines have many brackets, backticks or bars, whatever they mean.
func cheap(source []byte) bool {
	if len(source) > maxSourceBytes {
		return false
	}
	var all, r run
	blanks := 0
	for len(source) > 0 {
		l, rest, _ := bytes.Cut(source, []byte("\n"))
		source = rest
		r.add(l)
		blank := len(bytes.TrimSpace(l)) == 0
		if blanks++; !blank {
			blanks = 0
		}
		if markers(l) > maxMarkers || blanks > maxBlanks {
			return false
		}
		if blank || len(source) == 0 {
			all.work += r.openers*r.bytes + r.emphasis*r.emphasis
			all.cells += r.widest * r.lines
			r = run{}
		}
	}
	return all.work <= maxWork && all.cells <= maxCells
}

// A run is a number of lines without a blank one between them: no link, emphasis or
// table goes further.
type run struct {
	lines, bytes int
	openers      int // bytes at which a link, an element or code may begin
	emphasis     int // bytes at which emphasis may begin or end
	widest       int // the most cells on a line
	work, cells  int // of many runs
}

func (r *run) add(line []byte) {
	r.lines++
	r.bytes += len(line) + 1
	r.openers += countAny(line, "[<`")
	r.emphasis += countAny(line, "*_~")
	r.widest = max(r.widest, countAny(line, "|"))
}

func countAny(line []byte, chars string) int {
	count := 0
	for _, c := range []byte(chars) {
		count += bytes.Count(line, []byte{c})
	}
	return count
}

// markers counts the quotes and list items that a line opens before its text, and
// those that it may be in by its indentation if it opens any.
func markers(line []byte) int {
	count, blanks := 0, 0
	for i, c := range line {
		switch {
		case '0' <= c && c <= '9':
		case c == ' ':
			blanks++
		case c == '\t':
			blanks += 4
		case c == '>':
			count++
		case bytes.IndexByte([]byte("-+*.)"), c) >= 0:
			if i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' {
				count++
			}
		default:
			return nested(count, blanks)
		}
	}
	return nested(count, blanks)
}

// nested is generous to a single item: an item within another one stands at least two
// blanks to its right.
func nested(count, blanks int) int {
	if count == 0 {
		return 0
	}
	return max(count, blanks/4)
}
