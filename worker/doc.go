// Package worker is what a tool worker is made of: the server behind a tool gateway that
// does the work of one tool.
//
// A worker is a [Tool] and one call of [Run]:
//
//	func shout(ctx context.Context, in struct{ Text string `json:"text"` }) (any, error) {
//		return map[string]string{"text": strings.ToUpper(in.Text)}, nil
//	}
//
//	err := worker.Run(ctx, worker.Typed(shout), worker.Options{})
//
// The gateway posts an envelope to /run, and gets one back:
//
//	{"meta": {"trace_id": "…", "tool_run_id": "…", "domain_id": "…", "deadline_ms": 1700000000000}, "input": {…}}
//
//	{"ok": true, "meta": {"trace_id": "…", "tool_run_id": "…", "duration_ms": 12}, "output": {…}}
//	{"ok": false, "meta": {…}, "error": {"code": "TIMEOUT", "message": "…", "retryable": true, "details": {}}}
//
// The answer to a POST of /run has status 200 whatever became of it. A body without meta runs, too:
//
//	curl localhost:8080/run -d '{"input": {"text": "hello"}}'
//
// GET /healthz answers 200 {"ok": true}, or 500 and what is missing while the tool cannot
// work; see [Checker].
//
// JSON is read strictly: a member twice, bytes that are not UTF-8 or data behind the body
// are refused. Numbers reach the tool, and the caller, as they were written.
package worker
