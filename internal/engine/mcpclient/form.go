package mcpclient

import (
	"encoding/json"

	"github.com/durward/durward/internal/jsonx"
)

// A form says what members of an object hold if they are there: a text ("), a number (0), a truth
// value (t), a list ([) or an object ({). A client that holds a list to the form that the protocol
// gives it would otherwise lose all of it, other servers' items included, to one that has another.
type form map[string]byte

var holds = map[byte]string{'"': "text", '0': "number", 't': "truth value", '[': "list", '{': "object"}

// forms are those of the items, by their kinds.
var forms = [...]form{
	tools: {
		"title": '"', "description": '"', "inputSchema": '{', "outputSchema": '{', "annotations": '{', "execution": '{', "icons": '[', "_meta": '{',
	},
	resources: {
		"name": '"', "title": '"', "description": '"', "mimeType": '"', "size": '0', "annotations": '{', "icons": '[', "_meta": '{',
	},
	templates: {
		"name": '"', "title": '"', "description": '"', "mimeType": '"', "annotations": '{', "icons": '[', "_meta": '{',
	},
	prompts: {"title": '"', "description": '"', "arguments": '[', "icons": '[', "_meta": '{'},
}

var (
	// hints are what the annotations of a tool are, and notes those of anything else.
	hints = form{"title": '"', "readOnlyHint": 't', "destructiveHint": 't', "idempotentHint": 't', "openWorldHint": 't'}
	notes = form{"audience": '[', "priority": '0', "lastModified": '"'}
	// schemaForm is that of what a tool takes: arguments are an object.
	schemaForm = form{"type": '"', "properties": '{', "required": '['}
)

// formed gives an item, an object, without the members that are null, or why it is not of the form
// of its kind.
func formed(raw json.RawMessage, k kind) (_ json.RawMessage, wrong string) {
	raw, wrong = forms[k].of(raw)
	if wrong != "" {
		return nil, wrong
	}
	inner := map[string]form{"annotations": notes}
	if k == tools {
		inner = map[string]form{"annotations": hints, "inputSchema": schemaForm}
	}
	for member, f := range inner {
		value := jsonx.Member(raw, member)
		if value == nil {
			continue
		}
		if _, wrong := f.of(value); wrong != "" {
			return nil, member + "." + wrong
		}
	}
	if kind := jsonx.Member(jsonx.Member(raw, "inputSchema"), "type"); k == tools && kind != nil {
		if text, _ := jsonx.Text(kind); text != "object" {
			return nil, "inputSchema.type that is not object"
		}
	}
	return raw, ""
}

// of gives an object without those of the members that are null, or says which is of another form.
func (f form) of(object json.RawMessage) (_ json.RawMessage, wrong string) {
	var null []string
	for name, value := range jsonx.Members(object) {
		want := f[string(name)]
		switch has := formOf(value); {
		case want == 0 || has == want:
		case has == 'n':
			null = append(null, string(name))
		default:
			return nil, string(name) + " that is no " + holds[want]
		}
	}
	if null == nil {
		return object, ""
	}
	return jsonx.Without(object, null...), ""
}

// formOf is the first byte of a value, the same for all numbers and for both truth values.
func formOf(value []byte) byte {
	switch c := value[0]; {
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	case c == 'f':
		return 't'
	default:
		return c
	}
}
