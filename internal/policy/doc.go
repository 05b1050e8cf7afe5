// Package policy decides whether a call may run, and with what rights.
//
// Deciding is pure: it reads no files, no clock and no network. [Parse] a document,
// [Compile] it once for this host, then call [Policy.Decide] from any goroutine; or
// take the [Default] of a door that has no document. A document is YAML or JSON:
//
//	sandbox:                                  # may be left out: the bare mapping
//	  mode: workspace-write                   # read-only (default) | danger-full-access | external
//	  level: auto                             # auto (default) | 0..4
//	  minLevel: 2                             # refuse below
//	  require: [fs.read, fs.write, kill!]     # "!": the kernel alone must hold mem, pids, kill
//	  filesystem:
//	    read: ["@system", "${workspace}", "/opt/maybe?"]   # "?": may be missing
//	    write: ["${workspace}", "@tmp"]
//	    deny: ["~/.ssh", "${workspace}/**/.env"]           # beats read and write
//	    protect: ["@vcs", "@agent"]           # never writable, also if missing
//	    exec: ["@system"]
//	    view: private                         # private (default) | host-ro
//	    copyOnWrite: false
//	  network:
//	    mode: allowlist                       # none (default) | loopback | allowlist | full
//	    allow: ["api.example.com:443", "*.example.org:443", "[2001:db8::1]:5432"]
//	    allowPrivate: ["10.1.0.0/16"]
//	    requireSNI: true
//	    unixSockets: []
//	  limits: {wallMs: 30_000, outputBytes: 1048576}
//	  env: {set: {LANG: C.UTF-8}, pass: [TERM]}
//	  identity: auto                          # auto | keep | UID:GID
//
// Patterns stand in "deny" alone: * and ? and [abc] within one name, ** for any number of
// names. They are kept and matched anew at each run.
package policy
