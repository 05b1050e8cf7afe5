package audit

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/durward/durward/internal/jsonx"
)

// body gives a record without its first three members, ready for [appendLine].
func (r Record) body() ([]byte, error) { return r.bodyIn(nil) }

// bodyIn is body in memory that is there, if it is enough. The body is what jsonx.Marshal gives:
// every call waits for this twice, so it does without looking at types.
func (r *Record) bodyIn(room []byte) ([]byte, error) {
	b := bodyWriter{text: room[:0]}
	b.text = append(b.text, `"phase":`...)
	b.text = jsonx.AppendString(b.text, string(r.Phase))
	for _, m := range [...]struct{ name, value string }{
		{"reqId", string(r.ReqID)},
		{"clientId", r.ClientID},
		{"traceId", r.TraceID},
		{"door", r.Door},
		{"surface", r.Surface},
		{"caller", r.Caller},
		{"tool", string(r.Tool)},
		{"server", r.Server},
		{"decision", r.Decision},
		{"rule", r.Rule},
		{"where", r.Where},
		{"code", string(r.Code)},
		{"path", r.Path},
		{"cwd", r.Cwd},
		{"commandId", r.CommandID},
	} {
		b.string(m.name, m.value)
	}
	b.strings("args", r.Args)
	b.number("bytes", r.Bytes)
	b.string("sha256", r.SHA256)
	if r.ExitCode != nil {
		code := int64(*r.ExitCode)
		b.number("exitCode", &code)
	}
	b.count("signal", int64(r.Signal))
	b.bool("timedOut", r.TimedOut)
	b.bool("truncated", r.Truncated)
	if r.Cached {
		b.bool("cached", &r.Cached)
	}
	b.string("cause", r.Cause)
	b.number("durationMs", r.DurationMs)
	b.number("queueMs", r.QueueMs)
	b.string("policyHash", r.PolicyHash)
	b.string("formerPolicyHash", r.FormerPolicyHash)
	if r.Sandbox != nil {
		b.member("sandbox")
		b.text = r.Sandbox.AppendJSON(b.text)
	}
	if r.Network != nil {
		b.value("network", r.Network)
	}
	b.string("host", r.Host)
	b.count("port", r.Port)
	b.count("times", r.Times)
	b.limits(r.Limits)
	b.client(r.Client)
	text := escapeControls(append(b.text, '}'))
	if b.err == nil && len(text)+maxStart > maxLine {
		b.err = fmt.Errorf("the record is over %d bytes", maxLine)
	}
	return text, b.err
}

// A bodyWriter writes members.
type bodyWriter struct {
	text []byte
	err  error
}

func (b *bodyWriter) member(name string) {
	b.text = append(append(append(b.text, `,"`...), name...), `":`...)
}

func (b *bodyWriter) string(name, value string) {
	if value != "" {
		b.member(name)
		b.text = jsonx.AppendString(b.text, value)
	}
}

func (b *bodyWriter) strings(name string, values []string) {
	for i, v := range values {
		if i == 0 {
			b.member(name)
		}
		b.text = append(b.text, "[,"[min(i, 1)])
		b.text = jsonx.AppendString(b.text, v)
	}
	if len(values) > 0 {
		b.text = append(b.text, ']')
	}
}

func (b *bodyWriter) number(name string, n *int64) {
	if n != nil {
		b.member(name)
		b.text = strconv.AppendInt(b.text, *n, 10)
	}
}

// count writes a number that is left out when it is zero.
func (b *bodyWriter) count(name string, n int64) {
	if n != 0 {
		b.number(name, &n)
	}
}

func (b *bodyWriter) bool(name string, v *bool) {
	if v != nil {
		b.member(name)
		b.text = strconv.AppendBool(b.text, *v)
	}
}

func (b *bodyWriter) limits(l *Limits) {
	if l == nil {
		return
	}
	b.member("limits")
	start := len(b.text)
	for _, m := range [...]struct {
		name string
		n    int64
	}{
		{"wallMs", l.WallMs},
		{"graceMs", l.GraceMs},
		{"cpuMs", l.CPUMs},
		{"memoryBytes", l.MemoryBytes},
		{"addressSpaceBytes", l.AddressSpaceBytes},
		{"pids", l.Pids},
		{"openFiles", l.OpenFiles},
		{"fileSizeBytes", l.FileSizeBytes},
		{"tmpBytes", l.TmpBytes},
		{"stdinBytes", l.StdinBytes},
		{"outputBytes", l.OutputBytes},
		{"outputHardBytes", l.OutputHardBytes},
	} {
		b.count(m.name, m.n)
	}
	if len(b.text) == start {
		b.text = append(b.text, '{')
	}
	b.text[start] = '{' // in place of the first comma
	b.text = append(b.text, '}')
}

func (b *bodyWriter) client(c *Client) {
	if c == nil {
		return
	}
	b.member("client")
	b.text = jsonx.AppendString(append(b.text, `{"name":`...), c.Name)
	b.string("version", c.Version)
	b.text = append(b.text, '}')
}

// value writes what is rare.
func (b *bodyWriter) value(name string, v any) {
	text, err := jsonx.Marshal(v)
	if err != nil {
		b.err = err
		return
	}
	b.member(name)
	b.text = append(b.text, bytes.TrimSuffix(text, []byte("\n"))...)
}
