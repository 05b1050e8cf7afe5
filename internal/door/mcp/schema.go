package mcp

import "encoding/json"

// The schemas of what the tools take and give, as JSON Schema 2020-12.
const (
	draft = `"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",`
	shut  = `,"additionalProperties":false}`

	encoding = `"encoding":{"type":"string","enum":["utf8","base64"],"default":"utf8","description":"how data is written"}`
	digest   = `"sha256":{"type":"string","pattern":"^[0-9a-f]{64}$","description":"of the bytes, in hexadecimal"}`

	readInput = `{` + draft + `"properties":{` +
		`"path":{"type":"string","description":"the file"},` +
		`"offset":{"type":"integer","minimum":0,"default":0,"description":"the first byte to read"},` +
		`"length":{"type":"integer","minimum":0,"description":"the number of bytes to read; as many as allowed if absent"},` +
		encoding + `},"required":["path"]` + shut
	readOutput = `{` + draft + `"properties":{` +
		`"data":{"type":"string"},` +
		`"bytesRead":{"type":"integer","minimum":0},` +
		digest + `},"required":["data","bytesRead","sha256"]` + shut

	writeInput = `{` + draft + `"properties":{` +
		`"path":{"type":"string","description":"the file"},` +
		`"data":{"type":"string","description":"its whole content"},` +
		encoding + `,` +
		`"create":{"type":"boolean","default":true,"description":"make the file if it is not there"},` +
		`"overwrite":{"type":"boolean","default":false,"description":"replace the file if it is there"}` +
		`},"required":["path","data"]` + shut
	writeOutput = `{` + draft + `"properties":{` +
		`"bytesWritten":{"type":"integer","minimum":0},` +
		digest + `},"required":["bytesWritten","sha256"]` + shut

	runOutput = `{` + draft + `"properties":{` +
		`"exitCode":{"type":"integer","description":"128+n after signal n, -1 when the time was up"},` +
		`"stdout":{"type":"string"},` +
		`"stderr":{"type":"string"},` +
		`"timedOut":{"type":"boolean"},` +
		`"truncated":{"type":"boolean","description":"there was more output than is kept"}` +
		`},"required":["exitCode","stdout","stderr","timedOut","truncated"]` + shut

	runInputHead = `{` + draft + `"properties":{"commandId":{"type":"string"`
	runInputTail = `,"description":"the command"},` +
		`"args":{"type":"array","items":{"type":"string","maxLength":32768},"maxItems":256,"default":[],"description":"its arguments"},` +
		`"cwd":{"type":"string","minLength":1,"description":"the directory to run in"},` +
		`"stdin":{"type":"string","default":"","description":"its input"},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"},"default":{},"description":"variables that the policy lets a caller set"},` +
		`"timeoutMs":{"type":"integer","minimum":1,"description":"the time it gets, no more than the policy gives"}` +
		`},"required":["commandId"]` + shut
)

// runInput is the schema of cmd.run. Without any command it names none: clients refuse an
// enum of nothing.
func runInput(ids []string) json.RawMessage {
	schema := []byte(runInputHead)
	if len(ids) > 0 {
		list, _ := encode(ids) // strings are never refused
		schema = append(append(schema, `,"enum":`...), list...)
	}
	return append(schema, runInputTail...)
}
