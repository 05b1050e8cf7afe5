// Command server is an MCP server that misbehaves as it is told to. Its arguments are words:
//
//	modern, bare, silentinit   instead of a legacy server: another era, or one that does not
//	                           answer initialize but tools/list
//	exit, strict, mute         ends at once; ends at a request it does not know; never answers
//	unwilling                  answers initialize with an error
//	garbage, twice, wrongid    prints nonsense between the answers; answers each request twice;
//	                           answers for somebody else first
//	pages, loop, twins         lists its tools in pages; without an end; one of them twice
//	sly, ttl=N                 has another tool whenever they are listed, and tells nobody; says
//	                           that its tools are fresh for N milliseconds
//	deep=N                     has a tool, too, of which the schema is nested N deep
//	torn                       has a tool, too, whose description ends in half of a character
//	asks                       asks three things of its client, and prints the answers as errors
//	rich                       has resources and prompts, too; tells more of them once it has grown
//	secretive=FILE             does not tell its prompts before the file is there
//	lazy                       does not answer who sets the level of its log
//	deafened                   reads nothing once it has been greeted
//	unplugged=FILE             closes its input when it has been greeted, and exits when the file
//	                           is there
//	version=V                  answers initialize with that revision
//	slow=FILE                  does nothing before the file is there
//	any                        lists a tool, too, that is each of the others by its argument "tool"
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	words = os.Args[1:]
	out   sync.Mutex
	asked sync.Map // of id to chan string, which takes the answer
	open  sync.Map // of id to chan struct{}, closed when the call is cancelled
	grown bool     // guarded by out
	lists int      // guarded by out; how often its tools were listed

	greeted string // the client's capabilities

	subscribed = map[string]bool{} // guarded by out
)

func is(word string) bool { return slices.Contains(words, word) }

func value(name string) string {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return ""
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Can       json.RawMessage `json:"capabilities"`
		Responses json.RawMessage `json:"inputResponses"`
		State     json.RawMessage `json:"requestState"`
		Cursor    string          `json:"cursor"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      json.RawMessage `json:"_meta"`
		URI       string          `json:"uri"`
		Wanted    struct {
			Resources []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func main() {
	if is("exit") {
		fmt.Fprintln(os.Stderr, "no license found"+os.Getenv("LICENSE_KEY"))
		os.Exit(3)
	}
	if file := value("slow"); file != "" {
		await(file)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, "not a message:", err)
			os.Exit(9)
		}
		unplugged := value("unplugged")
		if unplugged != "" && m.Method == "tools/list" {
			os.Stdin.Close()
		}
		if !is("mute") {
			handle(m, line)
		}
		if unplugged != "" && m.Method == "tools/list" {
			await(unplugged)
			os.Exit(7)
		}
		if is("deafened") && m.Method == "tools/list" {
			time.Sleep(time.Hour)
		}
	}
}

func await(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func handle(m message, line []byte) {
	switch {
	case m.Method == "notifications/cancelled":
		if done, ok := open.Load(string(m.Params.RequestID)); ok {
			close(done.(chan struct{}))
		}
	case m.Method == "":
		if answered, ok := asked.LoadAndDelete(string(m.ID)); ok {
			if m.Error != nil {
				fmt.Fprintf(os.Stderr, "refused %s\n", m.Error)
			}
			answered.(chan string) <- string(m.Result) + string(m.Error)
			break
		}
		fmt.Fprintf(os.Stderr, "answered %s: %s%s\n", m.ID, m.Result, m.Error)
	case m.Method == "notifications/initialized":
		if is("asks") {
			for i, method := range []string{"ping", "roots/list", "sampling/createMessage"} {
				say(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method)
			}
		}
	case m.ID == nil:
	case m.Method == "tools/list":
		answer(m, list(m))
	case m.Method == "tools/call":
		done := make(chan struct{})
		open.Store(string(m.ID), done)
		go call(m, done)
	case m.Method == "server/discover" && is("modern"):
		answer(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+capabilities()+`,"instructions":""}`)
	case is("rich") && rich(m, line):
	case m.Method == "subscriptions/listen" && is("modern"):
		out.Lock()
		clear(subscribed)
		for _, uri := range m.Params.Wanted.Resources {
			subscribed[uri] = true
		}
		out.Unlock()
		say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}`)
	case m.Method == "initialize" && is("silentinit"):
	case m.Method == "initialize" && is("unwilling"):
		fail(m, -32000, "go away")
	case m.Method == "initialize" && !is("modern") && !is("bare"):
		greeted = string(m.Params.Can)
		version := value("version")
		if version == "" {
			version = "2025-06-18"
		}
		answer(m, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"fixture","version":"1"}}`, version, capabilities()))
	case is("strict"):
		os.Exit(4)
	case is("silentinit"):
	default:
		fail(m, -32601, "no such method: "+m.Method)
	}
}

func capabilities() string {
	if is("rich") {
		return `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}`
	}
	return `{"tools":{"listChanged":true}}`
}

// rich answers what servers that have more than tools are asked, most of it with what they were sent.
func rich(m message, line []byte) bool {
	var sent struct {
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(line, &sent)
	out.Lock()
	more := grown
	out.Unlock()
	switch m.Method {
	case "resources/list":
		switch {
		case m.Params.Cursor == "":
			answer(m, `{"resources":[{"uri":"memo://1","name":"one","x":1.0},{"name":"none"}],"nextCursor":"2"}`)
		case more:
			answer(m, `{"resources":[{"uri":"memo://2","name":"two"},{"uri":"memo://3"}]}`)
		default:
			answer(m, `{"resources":[{"uri":"memo://2","name":"two"},{"uri":"memo://1"}],"nextCursor":"2"}`)
		}
	case "resources/templates/list":
		if !more {
			return false
		}
		answer(m, `{"resourceTemplates":[{"uriTemplate":"memo://{n}"}]}`)
	case "prompts/list":
		if file := value("secretive"); file != "" {
			if _, err := os.Stat(file); err != nil {
				break
			}
		}
		if more {
			answer(m, `{"prompts":[{"name":"review"},{"name":"other"}]}`)
			break
		}
		answer(m, `{"prompts":[{"name":"review","arguments":[{"name":"path"}]}]}`)
	case "resources/read", "prompts/get", "completion/complete", "logging/setLevel":
		if m.Method == "logging/setLevel" && is("lazy") {
			break
		}
		if m.Params.URI == "memo://9" {
			fail(m, -32002, "no such resource")
			break
		}
		answer(m, `{"isError":true,"sent":`+string(sent.Params)+`}`)
		if m.Method == "logging/setLevel" {
			fmt.Fprintf(os.Stderr, "level %s\n", sent.Params)
		}
	case "resources/subscribe", "resources/unsubscribe":
		if is("modern") {
			return false
		}
		out.Lock()
		subscribed[m.Params.URI] = m.Method == "resources/subscribe"
		out.Unlock()
		answer(m, `{}`)
	default:
		return false
	}
	return true
}

func say(format string, args ...any) {
	out.Lock()
	defer out.Unlock()
	fmt.Fprintf(os.Stdout, format+"\n", args...)
}

func answer(m message, result string) {
	if is("garbage") {
		say("Listening…\n{\"jsonrpc\":\"2.0\",\"id\"\n\x00\xff{}}[\n[]\n{}\nnull\n{\"id\":true,\"jsonrpc\":\"2.0\",\"result\":{}}")
	}
	if is("wrongid") {
		for _, id := range []string{"987654", `"` + string(m.ID) + `"`, string(m.ID) + ".0", "-1", "99999999999999999999"} {
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[],"wrong":true}}`, id)
		}
	}
	say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if is("twice") {
		say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"second":true}}`, m.ID)
	}
}

func fail(m message, code int, text string) {
	say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"n":12345678901234567890}}}`, m.ID, code, text)
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

const tool = `{"name":%q,"title":"T","description":"D","inputSchema":{"type":"object","x":1.0},"annotations":{"readOnlyHint":true}}`

func list(m message) string {
	at, _ := strconv.Atoi(m.Params.Cursor)
	one := func(name string) string { return fmt.Sprintf(tool, name) }
	switch {
	case is("loop"):
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, one(fmt.Sprint("t", at)), (at+1)%3)
	case is("pages") && at < 4:
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, one(fmt.Sprint("t", at)), at+1)
	case is("twins"):
		return `{"tools":[` + one("a") + `,` + strings.Replace(one("a"), `"D"`, `"second"`, 1) + `,{"title":"nameless"},7]}`
	}
	if is("any") {
		return `{"tools":[` + one("echo") + `,` + one("any") + `]}`
	}
	out.Lock()
	defer out.Unlock()
	have := one("echo")
	if grown {
		have += "," + one("grown")
	}
	if is("sly") {
		have += "," + one(fmt.Sprint("list", lists))
		lists++
	}
	if is("torn") {
		have = `{"name":"torn","description":"D\ud83d"},` + have
	}
	if deep, _ := strconv.Atoi(value("deep")); deep > 0 {
		have = `{"name":"deep","inputSchema":` + strings.Repeat(`{"not":`, deep) + `{}` + strings.Repeat("}", deep) + `},` + have
	}
	if ttl := value("ttl"); ttl != "" {
		return `{"ttlMs":` + ttl + `,"tools":[` + have + `]}`
	}
	return `{"tools":[` + have + `]}`
}

type arguments struct {
	Tool, Text, Path, Addr string
	Bytes, Code            int
	Began, Gone            string
}

func call(m message, cancelled chan struct{}) {
	var a arguments
	_ = json.Unmarshal(m.Params.Arguments, &a)
	if m.Params.Name == "any" {
		m.Params.Name = a.Tool
	}
	switch m.Params.Name {
	case "echo":
		answer(m, fmt.Sprintf(`{"content":[],"structuredContent":%s}`, m.Params.Arguments))
	case "raw":
		answer(m, a.Text)
	case "file": // holds the result
		result, err := os.ReadFile(a.Path)
		if err != nil {
			fail(m, 1, err.Error())
			return
		}
		answer(m, string(result))
	case "line":
		say("%s", strings.ReplaceAll(a.Text, "ID", string(m.ID)))
	case "meta":
		if m.Params.Meta == nil {
			m.Params.Meta = json.RawMessage("null")
		}
		answer(m, fmt.Sprintf(`{"meta":true,"structuredContent":%s}`, m.Params.Meta))
	case "big":
		answer(m, text(strings.Repeat("x", a.Bytes)))
	case "idlast":
		say(`{"result":%s,"jsonrpc":"2.0","id":%s}`, text(strings.Repeat("x", a.Bytes)), m.ID)
	case "error":
		fail(m, a.Code, a.Text)
	case "failed":
		answer(m, `{"isError":true,"content":[{"type":"text","text":"it failed"}]}`)
	case "mark":
		_ = os.WriteFile(a.Path, nil, 0o644)
		answer(m, text("done"))
	case "wait": // until it is cancelled
		_ = os.WriteFile(a.Began, nil, 0o644)
		<-cancelled
		_ = os.WriteFile(a.Gone, nil, 0o644)
		answer(m, text("too late"))
	case "linger": // and say so first
		say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID)
		time.Sleep(time.Hour)
	case "hang": // whatever happens
		_ = os.WriteFile(a.Began, nil, 0o644)
		time.Sleep(time.Hour)
	case "exit":
		fmt.Fprintln(os.Stderr, a.Text)
		os.Exit(a.Code)
	case "close":
		os.Stdout.Close()
	case "fork": // somebody who would outlive us, and holds our streams
		c := exec.Command("setsid", "sleep", a.Text)
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			fail(m, 1, err.Error())
			return
		}
		answer(m, text("done"))
	case "env":
		list := os.Environ()
		slices.Sort(list)
		answer(m, text(strings.Join(list, "\n")))
	case "dir":
		dir, _ := os.Getwd()
		answer(m, text(dir))
	case "fds": // what is open beside what a Go program opens by itself
		var list []string
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, "pipe:") {
				list = append(list, e.Name())
			}
		}
		answer(m, text(strings.Join(list, " ")))
	case "read":
		data, err := os.ReadFile(a.Path)
		if err != nil {
			fail(m, 1, err.Error())
			return
		}
		answer(m, text(string(data)))
	case "dial":
		c, err := net.DialTimeout("tcp", a.Addr, 5*time.Second)
		if err != nil {
			fail(m, 1, err.Error())
			return
		}
		said, _ := io.ReadAll(c)
		answer(m, text(string(said)))
	case "grow", "more": // of all, and of tools
		out.Lock()
		grown = true
		out.Unlock()
		kinds := []string{"tools", "resources", "prompts"}
		if m.Params.Name == "more" {
			kinds = kinds[:1]
		}
		for _, kind := range kinds {
			say(`{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}`, kind)
		}
		answer(m, text("done"))
	case "ask": // the caller; so many times at once
		answered := make(chan string, a.Code+1)
		for i := range a.Code + 1 {
			id := fmt.Sprintf(`"%s %s %d"`, m.ID, a.Text, i)
			asked.Store(id, answered)
			say(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"message":"who?","n":1.0}}`, id, a.Text)
			if a.Path == "take back" {
				say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
			}
		}
		var all []string
		for range a.Code + 1 {
			select {
			case one := <-answered:
				all = append(all, one)
			case <-cancelled:
			}
		}
		slices.Sort(all)
		answer(m, text(strings.Join(all, "\n")))
	case "want": // more, for so many rounds
		round, _ := strconv.Atoi(strings.Trim(string(m.Params.State), `"`))
		if round < a.Code {
			answer(m, fmt.Sprintf(`{"resultType":"input_required","inputRequests":%s,"requestState":"%d"}`, a.Text, round+1))
			break
		}
		if m.Params.State == nil {
			m.Params.Responses, m.Params.State = json.RawMessage("null"), json.RawMessage("null")
		}
		answer(m, fmt.Sprintf(`{"content":[],"structuredContent":[%s,%s]}`, m.Params.Responses, m.Params.State))
	case "capabilities":
		var meta struct {
			Can json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		}
		_ = json.Unmarshal(m.Params.Meta, &meta)
		answer(m, text(greeted+string(meta.Can)))
	case "touch":
		out.Lock()
		var list []string
		for uri, on := range subscribed {
			if on {
				list = append(list, uri)
			}
		}
		out.Unlock()
		slices.Sort(list)
		for _, uri := range list {
			say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"x":1.0}}`, uri)
		}
		answer(m, text("done"))
	case "progress":
		for i := range 3 {
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3,"message":"step"}}`, m.ID, i)
		}
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":1.0}}}`)
		answer(m, text("done"))
		say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":9}}`, m.ID)
	default:
		fail(m, -32602, "no such tool")
	}
}
