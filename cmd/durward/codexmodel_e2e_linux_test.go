//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A model stands where codex looks for the service of its maker: it is asked over the Responses
// API what to do next, and says what the test has it say.
type model struct {
	t      *testing.T
	url    string
	asked  chan []item     // what codex knows by now, once for each question
	next   chan item       // the answer
	ended  <-chan struct{} // closed when codex ended
	called int
}

const (
	modelName = "gpt-5.5" // one that codex knows, and gives all the tools that are used here
	modelKey  = "the-key"
)

// An item is one piece of a conversation.
type item map[string]any

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, asked: make(chan []item), next: make(chan item)}
	server := httptest.NewServer(m)
	m.url = server.URL
	t.Cleanup(server.Close)
	return m
}

// ServeHTTP takes one question, and streams its answer.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known, err := asks(r)
	if err != nil {
		m.t.Errorf("codex asks %s %s: %v", r.Method, r.URL, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case m.asked <- known:
	case <-r.Context().Done():
		return
	}
	select {
	case said := <-m.next:
		streamAnswer(w, said)
	case <-r.Context().Done():
	}
}

// asks reads what codex sends, and is an error where the API would not take it, or where it
// is not what codex was told to be.
func asks(r *http.Request) ([]item, error) {
	var q struct {
		Model   string
		Stream  bool
		Store   bool
		Input   []item
		Tools   []struct{ Type, Name string }
		Include []string
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/responses" {
		return nil, errors.New("it asks for something else")
	}
	if got := r.Header.Get("Authorization"); got != "Bearer "+modelKey {
		return nil, fmt.Errorf("its key is %q", got)
	}
	if got := r.Header.Get("Accept"); got != "text/event-stream" {
		return nil, fmt.Errorf("it accepts %q", got)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 4<<20))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if q.Model != modelName || !q.Stream || q.Store {
		return nil, fmt.Errorf("it is %q, %v, %v", q.Model, q.Stream, q.Store)
	}
	offered := map[string]string{}
	for _, tool := range q.Tools {
		offered[tool.Name] = tool.Type
	}
	for tool, form := range map[string]string{"exec_command": "function", "write_stdin": "function", "apply_patch": "custom"} {
		if offered[tool] != form {
			return nil, fmt.Errorf("%s is a %q among %v", tool, offered[tool], offered)
		}
	}
	return q.Input, answersAll(q.Input)
}

// answersAll asks that every call among the items has one output, and every output its call.
func answersAll(items []item) error {
	var calls, outputs []string
	for _, i := range items {
		id, _ := i["call_id"].(string)
		switch i["type"] {
		case "function_call", "custom_tool_call":
			calls = append(calls, id)
		case "function_call_output", "custom_tool_call_output":
			outputs = append(outputs, id)
		}
	}
	if !slices.Equal(calls, outputs) {
		return fmt.Errorf("the calls %q have the outputs %q", calls, outputs)
	}
	return nil
}

// streamAnswer says one item, as a whole answer.
func streamAnswer(w http.ResponseWriter, said item) {
	id := "resp_" + fmt.Sprint(said["id"])
	w.Header().Set("Content-Type", "text/event-stream")
	for number, e := range []item{
		{"type": "response.created", "response": item{"id": id, "object": "response", "status": "in_progress", "output": []item{}}},
		{"type": "response.output_item.added", "output_index": 0, "item": said},
		{"type": "response.output_item.done", "output_index": 0, "item": said},
		{"type": "response.completed", "response": item{
			"id": id, "object": "response", "status": "completed", "output": []item{said},
			"usage": item{
				"input_tokens": 1, "input_tokens_details": item{"cached_tokens": 0},
				"output_tokens": 1, "output_tokens_details": item{"reasoning_tokens": 0}, "total_tokens": 2,
			},
		}},
	} {
		e["sequence_number"] = number
		text, err := json.Marshal(e)
		if err != nil {
			panic(err) // it is made of what JSON has
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text)
		w.(http.Flusher).Flush()
	}
}

// isAsked waits for the next question, and gives what codex knows by then.
func (m *model) isAsked() []item {
	m.t.Helper()
	select {
	case known := <-m.asked:
		return known
	case <-m.ended:
		m.t.Fatal("codex ended, and asked no more")
	case <-time.After(time.Minute):
		m.t.Fatal("codex asks nothing")
	}
	return nil
}

// says answers the question that codex waits with.
func (m *model) says(said item) {
	m.t.Helper()
	select {
	case m.next <- said:
	case <-m.ended:
		m.t.Fatal("codex ended, and waited for no answer")
	case <-time.After(time.Minute):
		m.t.Fatal("codex takes no answer")
	}
}

// begin has codex use a tool, and does not wait for what comes of it.
func (m *model) begin(tool string, with arguments) (id string) {
	m.t.Helper()
	m.called++
	id = fmt.Sprintf("call_%d", m.called)
	m.says(item{"type": "function_call", "id": "fc_" + id, "call_id": id, "status": "completed", "name": tool, "arguments": inJSON(m.t, with)})
	return id
}

// outcome waits for the output of the call that was made last.
func (m *model) outcome(id string) string {
	m.t.Helper()
	known := m.isAsked()
	last := known[len(known)-1]
	output, isText := last["output"].(string)
	if last["call_id"] != id || !isText {
		m.t.Fatalf("the last that codex knows is %v; want the output of %s", last, id)
	}
	return output
}

// has has codex use a tool, and gives its output.
func (m *model) has(tool string, with arguments) string {
	m.t.Helper()
	return m.outcome(m.begin(tool, with))
}

// patches has codex apply a patch, and gives what came of it.
func (m *model) patches(lines ...string) string {
	m.t.Helper()
	m.called++
	id := fmt.Sprintf("call_%d", m.called)
	patch := "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
	m.says(item{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "status": "completed", "name": "apply_patch", "input": patch})
	return m.outcome(id)
}

// isDone has codex end with a word.
func (m *model) isDone(word string) {
	m.t.Helper()
	m.says(item{"type": "message", "id": "msg_end", "role": "assistant", "status": "completed", "content": []item{
		{"type": "output_text", "text": word, "annotations": []item{}},
	}})
}
