package site

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward"
)

// A Component is a block of a page that is replaced by the output of its code.
type Component struct {
	// Start and End are its offsets in the document.
	Start, End int
	Code       string
}

// Limits of the components of one page.
const (
	maxComponents   = 32
	atOnce          = 4
	componentOutput = 1 << 20
	maxDetailBytes  = 256
)

// ComponentTime is the longest time that a component gets.
const ComponentTime = 5 * time.Second

// componentSurface marks the calls of components in records, and to the rules that
// decide them; no request can set it.
const componentSurface = "component"

// fill replaces the components of a page by what their code prints. The output is not
// looked through again.
func (d *door) fill(r *http.Request, sent, clean string, document []byte) ([]byte, error) {
	env, err := queryEnv(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	found := d.Components(document)
	outputs := make([]string, len(found))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, c := range found {
		if i >= maxComponents {
			outputs[i] = evalError("too many components")
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			call := d.call(r, sent, clean)
			call.Surface, call.Argv, call.Env = componentSurface, []string{"sh", "-c", c.Code}, maps.Clone(env)
			call.Ask.Limits = durward.Limits{Wall: d.ComponentTime}
			outputs[i] = d.evaluate(r.Context(), call)
		})
	}
	running.Wait()
	return replaced(document, found, outputs), nil
}

func replaced(document []byte, found []Component, outputs []string) []byte {
	var b bytes.Buffer
	at := 0
	for i, c := range found {
		b.Write(document[at:c.Start])
		b.WriteString(outputs[i])
		at = c.End
	}
	b.Write(document[at:])
	return b.Bytes()
}

// queryEnv reads the query of a GET as variables for components. Of them, the rules let
// through what the page lists.
func queryEnv(query string) (map[string]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, badEnv("the query is malformed")
	}
	env := make(map[string]string, len(values))
	for name, list := range values {
		if len(list) != 1 {
			return nil, badEnv("the query gives %.64q more than once", name)
		}
		env[name] = list[0]
	}
	return env, CheckEnv(env)
}

// evaluate runs one component and gives the text that stands in its place.
func (d *door) evaluate(ctx context.Context, c durward.Call) string {
	result, err := d.Runtime.Do(ctx, c)
	_ = result.Discard()
	switch {
	case durward.KindOf(err) == durward.Timeout:
		return evalError(fmt.Sprintf("timed out after %gs", d.ComponentTime.Seconds()))
	case err != nil:
		_, _, message := Fault(err)
		return evalError(message)
	}
	stdout, stderr := kept(result.Stdout), kept(result.Stderr)
	if status := result.ExitStatus(); status != 0 {
		return evalError(fmt.Sprintf("exit %d — %s", status, detail(stderr, stdout)))
	}
	return strings.TrimRightFunc(cut(stdout, componentOutput, ""), unicode.IsSpace)
}

// kept gives a stream as text, without a character that was cut in two.
func kept(c durward.Capture) string {
	text := c.Bytes()
	return strings.ToValidUTF8(string(text[:wholeRunes(text, c.Dropped() == 0)]), "\ufffd")
}

func evalError(what string) string { return "[eval error: " + what + "]" }

// detail gives what a failed component said.
func detail(stderr, stdout string) string {
	text := strings.TrimSpace(stderr)
	if text == "" {
		text = strings.TrimSpace(stdout)
	}
	return cut(text, maxDetailBytes, "…")
}

// cut shortens text to at most so many bytes, between two characters, and marks that.
func cut(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + mark
}
