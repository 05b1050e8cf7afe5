package audit

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// A Phase says what a record is about.
type Phase string

// The phases.
const (
	// Intent stands before the first effect of an allowed call, Outcome before its answer.
	Intent  Phase = "intent"
	Outcome Phase = "outcome"
	// Deny is the one record of a call that did not run.
	Deny Phase = "deny"
	// Event is anything that is not a call.
	Event Phase = "event"
)

// A Record is one line of the log. An absent member means unknown.
type Record struct {
	// Seq counts from 1 without holes through all segments of a chain.
	Seq uint64 `json:"seq"`
	// Prev is the SHA-256, in lower-case hexadecimal, of the line before without its
	// newline; 64 zeros in the first record of a chain.
	Prev  string `json:"prev"`
	TS    Time   `json:"ts"`
	Phase Phase  `json:"phase"`

	ReqID    durward.CallID `json:"reqId,omitempty"`
	ClientID string         `json:"clientId,omitempty"`
	TraceID  string         `json:"traceId,omitempty"`
	Door     string         `json:"door,omitempty"`
	Surface  string         `json:"surface,omitempty"`
	Caller   string         `json:"caller,omitempty"`
	Tool     durward.ToolID `json:"tool,omitempty"`
	// Server is the one that has the tool, where there is one.
	Server string `json:"server,omitempty"`
	// Decision is "allow" or "deny".
	Decision string `json:"decision,omitempty"`
	Rule     string `json:"rule,omitempty"`
	// Where is the place of the rule, as file:line.
	Where string `json:"where,omitempty"`
	// Code is why the call was denied or failed.
	Code durward.Reason `json:"code,omitempty"`
	Path string         `json:"path,omitempty"`
	Cwd  string         `json:"cwd,omitempty"`

	CommandID string `json:"commandId,omitempty"`
	// Args holds the SHA-256 of each argument, or the arguments where [Options] says so.
	Args []string `json:"args,omitempty"`
	// Bytes and SHA256 describe the content that was read, written or printed.
	Bytes     *int64 `json:"bytes,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Signal    int    `json:"signal,omitempty"`
	TimedOut  *bool  `json:"timedOut,omitempty"`
	Truncated *bool  `json:"truncated,omitempty"`
	// Cached is set in an outcome that is the result of an equal call before.
	Cached bool `json:"cached,omitempty"`
	// Cause is a [durward.Outcome] in an outcome, and the kind of an event.
	Cause      string `json:"cause,omitempty"`
	DurationMs *int64 `json:"durationMs,omitempty"`
	QueueMs    *int64 `json:"queueMs,omitempty"`
	PolicyHash string `json:"policyHash,omitempty"`
	// FormerPolicyHash is that of the policy which another one took the place of, in an
	// event of kind "policy.reload".
	FormerPolicyHash string          `json:"formerPolicyHash,omitempty"`
	Sandbox          *durward.Report `json:"sandbox,omitempty"`
	// Network says where a command with an allowlist went. What it was refused is in
	// events before that, too: "network.refused", with the host and port, the rule, and how
	// often. One without host and rule counts what was refused beside the list.
	Network *durward.Traffic `json:"network,omitempty"`
	Host    string           `json:"host,omitempty"`
	Port    int64            `json:"port,omitempty"`
	Times   int64            `json:"times,omitempty"`
	Limits  *Limits          `json:"limits,omitempty"`
	Client  *Client          `json:"client,omitempty"`
}

// Limits are the limits in force for a call, under the names a policy gives them; -1
// is none.
type Limits struct {
	WallMs            int64 `json:"wallMs,omitempty"`
	GraceMs           int64 `json:"graceMs,omitempty"`
	CPUMs             int64 `json:"cpuMs,omitempty"`
	MemoryBytes       int64 `json:"memoryBytes,omitempty"`
	AddressSpaceBytes int64 `json:"addressSpaceBytes,omitempty"`
	Pids              int64 `json:"pids,omitempty"`
	OpenFiles         int64 `json:"openFiles,omitempty"`
	FileSizeBytes     int64 `json:"fileSizeBytes,omitempty"`
	TmpBytes          int64 `json:"tmpBytes,omitempty"`
	StdinBytes        int64 `json:"stdinBytes,omitempty"`
	OutputBytes       int64 `json:"outputBytes,omitempty"`
	OutputHardBytes   int64 `json:"outputHardBytes,omitempty"`
}

// Client is what a client says of itself.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// A Time is written in UTC with exactly three digits of a second.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

// String gives the form of the log.
func (t Time) String() string { return t.UTC().Format(timeFormat) }

// MarshalJSON gives the form of the log.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// maxLine is the length in bytes of the longest record. The writer makes none that is
// longer and the readers look at no more.
const maxLine = 1 << 20

// maxStart is the length that the first three members have at most in the log.
const maxStart = 160

// appendLine puts a body at its place in the chain.
func appendLine(to []byte, seq uint64, prev digest, at time.Time, body []byte) []byte {
	to = strconv.AppendUint(append(to, `{"seq":`...), seq, 10)
	to = hex.AppendEncode(append(to, `,"prev":"`...), prev[:])
	to = appendTime(append(to, `","ts":"`...), at)
	return append(append(to, `",`...), body...)
}

// appendTime appends what [Time] gives, without reading the format each time.
func appendTime(to []byte, at time.Time) []byte {
	at = at.UTC()
	year, month, day := at.Date()
	if year < 1000 || year > 9999 {
		return at.AppendFormat(to, timeFormat)
	}
	hour, minute, second := at.Clock()
	to = strconv.AppendInt(to, int64(year), 10)
	to = appendTwo(append(to, '-'), int(month))
	to = appendTwo(append(to, '-'), day)
	to = appendTwo(append(to, 'T'), hour)
	to = appendTwo(append(to, ':'), minute)
	to = appendTwo(append(to, ':'), second)
	ms := at.Nanosecond() / 1e6
	return append(appendTwo(append(to, '.', byte('0'+ms/100)), ms%100), 'Z')
}

// appendTwo appends the two digits of a number below 100.
func appendTwo(to []byte, n int) []byte { return append(to, byte('0'+n/10), byte('0'+n%10)) }

// parseRecord reads a line. It takes members it does not know, and refuses what is
// not an object with a sequence number.
func parseRecord(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	if r.Seq == 0 || len(r.Prev) != len(digest{}.String()) {
		return Record{}, fmt.Errorf("not a record: no sequence number or no hash of the line before")
	}
	return r, nil
}

// escapeControls writes every character that is not plainly visible as \uXXXX, so that
// one record is one line for every reader, no terminal obeys it and nothing hides in
// it. Inside JSON such characters stand in strings only.
func escapeControls(text []byte) []byte {
	at := firstControl(text)
	if at < 0 {
		return text
	}
	safe := append(make([]byte, 0, len(text)+64), text[:at]...)
	for _, c := range string(text[at:]) {
		switch {
		case !isHidden(c):
			safe = utf8.AppendRune(safe, c)
		case c > 0xffff:
			c -= 0x10000
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, c)
		}
	}
	return safe
}

// firstControl looks at eight bytes at once as long as they are plain ASCII: most records are,
// all the way, and every call waits for this.
func firstControl(text []byte) int {
	const each, top = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		eight := binary.LittleEndian.Uint64(text[i:])
		if (eight|(eight+each)|(eight-each*' '))&top != 0 { // or a byte that carries into the next
			break
		}
	}
	rest := bytes.IndexFunc(text[i:], isHidden)
	if rest < 0 {
		return -1
	}
	return i + rest
}

// isHidden reports whether a reader does not see c as what it is. Some runes count as
// printable and leave no mark: fillers, variation selectors, the empty Braille pattern.
func isHidden(c rune) bool {
	const blankBraille = '\u2800'
	return !unicode.IsPrint(c) || c == blankBraille ||
		unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func isControl(c rune) bool {
	if c < 0x7f {
		return c < ' '
	}
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// hasControl reports whether text would not be one plain word on a line.
func hasControl(text string) bool { return strings.ContainsFunc(text, isControl) }
