package mcpclient

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"sync"
)

// idAtEnd finds the id of an answer of which only both ends are known. Most programs write it
// before the result, others behind it.
func idAtEnd(head, tail []byte) (int64, bool) {
	id, asks := idInHead(head)
	if asks || id > 0 {
		return id, !asks
	}
	if m := lastMembers().FindSubmatch(bytes.TrimSpace(tail)); m != nil {
		id, err := strconv.ParseInt(string(m[1]), 10, 64)
		return id, err == nil
	}
	return 0, false
}

// lastMembers are those behind a result: the id, and perhaps the version on either side.
var lastMembers = sync.OnceValue(func() *regexp.Regexp {
	const version = `(?:\s*,\s*"jsonrpc"\s*:\s*"2\.0")?`
	return regexp.MustCompile(`[}\]"0-9el]` + version + `\s*,\s*"id"\s*:\s*([0-9]{1,18})` + version + `\s*\}$`)
})

// idInHead reads the members of an object until one is not whole. It gives the id, or zero, and
// reports whether it is no answer but has a method.
func idInHead(head []byte) (id int64, asks bool) {
	in := json.NewDecoder(bytes.NewReader(head))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	for in.More() {
		name, err := in.Token()
		if name == "method" {
			return 0, true
		}
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return id, false
		}
		if name == "id" {
			id, _ = strconv.ParseInt(string(value), 10, 64)
		}
	}
	return id, false
}
