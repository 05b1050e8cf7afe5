// Package mcppolicy reads the policy.yaml of the MCP door and judges arguments and environments by it.
//
// [Parse] reads a document, [Compile] makes a [Policy] of it for one machine, and
// [Command.Judge] and [Command.Environ] decide from any goroutine. Nothing here opens a
// file: what has to be known of the machine is asked of a [Host].
//
//	version: 1                          # the one format there is
//	denyNetworkFS: true                 # default
//	allowedRoots: ["~/code", /srv/data] # existing directories; required
//	writeRules:
//	  - path: ~/code/scratch            # within an allowed root
//	    recursive: true                 # default false: the directory's own files alone
//	    maxFileBytes: 10_000_000
//	    createIfMissing: true
//	commands:
//	  - id: rg
//	    exec: /usr/bin/rg               # or a bare name, looked up once
//	    args:
//	      allow: [--hidden]             # to the byte
//	      patterns: [{type: regex, value: '[\w.]+'}]   # of the whole argument
//	      fixed: [--no-config]          # in front of what is asked for, unchecked
//	      pathScope: roots              # default; none lifts it
//	    cwdPolicy: withinRoot           # default | fixed | none
//	    envAllowlist: [RIPGREP_CONFIG_PATH]
//	    env: {LC_ALL: C}
//	    timeoutMs: 20_000
//	    maxOutputBytes: 2_000_000
//	    platform: [linux, macos]        # default: all
//	    sandbox: {…}                    # the mapping of package policy
//	logging: {level: info, file: ~/.mcp/log.jsonl, redact: [env]}
//	limits: {maxReadBytes: 5_000_000, maxCmdConcurrency: 2}
//	profiles:
//	  - name: reader                    # narrows, never widens
//	    commands: [rg]
//	    writeRules: none
//
// Each field may also be written in snake_case. The table in fields.go lists them all; the
// decoder, the hash and the [Schema] are made from it.
package mcppolicy
