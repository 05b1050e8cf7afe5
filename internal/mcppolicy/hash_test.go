//go:build unix

package mcppolicy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/mcppolicy"
)

// The two vectors of the contract.
func TestTheHashIsThatOfTheContract(t *testing.T) {
	for text, want := range map[string]string{
		"version: 1\nallowedRoots: [\"/w\"]\n": "4db9c60d5f8a9275ebd3bffcd9a3f18a9dec485efd8838965af1db5a0cfdf45b",
		full:                                   "48034d9ab3fcc353929e66557933890e1541c140f397268fe4168be24d19d76c",
	} {
		if got := parse(t, text).Hash(); got != want {
			t.Errorf("%s\nhas the hash %s, not %s", text, got, want)
		}
	}
}

const full = `
version: 1
allowedRoots: ["~/code"]
writeRules:
  - path: ~/code/scratch
    recursive: true
    maxFileBytes: 10_000_000
    createIfMissing: true
commands:
  - id: ls
    exec: /bin/ls
    args:
      allow: ["-l"]
    platform: [linux, macos]
    timeoutMs: 5000
logging:
  file: ~/.mcp/mdmcpsrvr.log.jsonl
`

func TestTheFormOfADocumentDoesNotChangeItsHash(t *testing.T) {
	want := parse(t, full).Hash()
	for name, text := range map[string]string{
		"order":       "logging: {file: ~/.mcp/mdmcpsrvr.log.jsonl}\ncommands: [{timeoutMs: 5000, platform: [linux, macos], exec: /bin/ls, id: ls, args: {allow: [-l]}}]\nwriteRules: [{createIfMissing: true, recursive: true, path: ~/code/scratch}]\nallowedRoots: [~/code]\nversion: 1\n",
		"aliases":     "version: 1\nallowed_roots: [~/code]\nwrite_rules: [{path: ~/code/scratch, recursive: true, max_file_bytes: 10000000, create_if_missing: true}]\ncommands: [{id: ls, exec: /bin/ls, args: {allow: [-l]}, platform: [linux, macos], timeout_ms: 5_000}]\nlogging: {file: ~/.mcp/mdmcpsrvr.log.jsonl}\n",
		"comments":    strings.ReplaceAll(full, "\n", " # why\n"),
		"blank lines": strings.ReplaceAll(full, "\n", "\n\n"),
		"numbers":     strings.ReplaceAll(full, "5000", "0x1388"),
		"defaults": full + `  level: info
  redact: [env]
  maxBytes: 10_000_000
  keep: 10
denyNetworkFS: true
denyHardLinks: false
allowRootFilesystem: false
strictVirtual: false
outputRetention: head
profiles: []
limits: {maxReadBytes: 5_000_000, maxCmdConcurrency: 2}
`,
	} {
		if got := parse(t, text).Hash(); got != want {
			t.Errorf("%s: the hash changes", name)
		}
	}
}

// Each text changes one member of the full document.
func TestEveryMemberChangesTheHash(t *testing.T) {
	seen := map[string]string{parse(t, full).Hash(): "nothing"}
	base := "version: 1\nallowedRoots: [/w]\n"
	rule := base + "writeRules: [{path: /w, "
	cmd := base + "commands: [{id: a, exec: b, "
	for _, text := range []string{
		base,
		"version: 1\nallowedRoots: [/w, /x]",
		"version: 1\nallowedRoots: [/x, /w]",
		base + "denyNetworkFS: false",
		base + "writeRules: [{path: /w}]", base + "writeRules: [{path: /w/a}]",
		rule + "recursive: true}]", rule + "maxFileBytes: 1}]", rule + "createIfMissing: true}]",
		base + "commands: [{id: a, exec: b}]", base + "commands: [{id: b, exec: b}]", base + "commands: [{id: a, exec: c}]",
		cmd + "description: x}]", cmd + "args: {allow: [x]}}]", cmd + "args: {fixed: [x]}}]", cmd + "args: {patterns: [{type: regex, value: x}]}}]",
		cmd + "args: {any: true}}]", cmd + "args: {allowMetacharacters: true}}]", cmd + "args: {pathScope: none}}]",
		cmd + "cwdPolicy: none}]", cmd + "cwdPolicy: fixed}]", cmd + "cwdPolicy: fixed, cwd: /w}]", cmd + "envAllowlist: [A]}]",
		cmd + "env: {A: x}}]", cmd + "env: {A: y}}]", cmd + "timeoutMs: 1}]", cmd + "maxOutputBytes: 1}]", cmd + "platform: [linux]}]",
		cmd + "sandbox: {}}]", cmd + "sandbox: {limits: {pids: 1}}}]", cmd + "sandbox: {limits: {pids: 2}}}]",
		base + "logging: {level: warn}", base + "logging: {file: /l}", base + "logging: {redact: []}", base + "logging: {redact: [args]}",
		base + "logging: {maxBytes: 1}", base + "logging: {keep: 1}",
		base + "limits: {maxReadBytes: 1}", base + "limits: {maxCmdConcurrency: 1}", base + "limits: {maxAddressSpaceBytes: 1}",
		base + "denyHardLinks: true", base + "allowRootFilesystem: true", base + "strictVirtual: true", base + "outputRetention: tail",
		base + "sandbox: {}", base + "sandbox: {mode: external}",
		base + "profiles: [{name: p, commands: []}]", base + "profiles: [{name: q, commands: []}]",
		base + "profiles: [{name: p, commands: [], writeRules: same}]", base + "profiles: [{name: p, commands: [], limits: {maxReadBytes: 1}}]",
		base + "profiles: [{name: p, commands: [], limits: {maxCmdConcurrency: 1}}]",
		cmd + "}]\nprofiles: [{name: p, commands: [a]}]",
	} {
		got := parse(t, text).Hash()
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q have the same hash", text, other)
		}
		seen[got] = text
	}
}

// A number means the same however it is written, in a sandbox as well.
func TestNumbersInASandboxCountAsWhatTheyMean(t *testing.T) {
	base := "version: 1\nallowedRoots: [/w]\nsandbox: {limits: {pids: "
	if parse(t, base+"1_000}}").Hash() != parse(t, base+"0x3e8}}").Hash() {
		t.Error("the hashes differ")
	}
}

func TestReformattingKeepsTheHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.Split(strings.TrimSpace(full), "\n")
		for i, line := range lines {
			space := strings.Repeat(" ", rapid.IntRange(0, 3).Draw(t, "blanks"))
			note := rapid.SampledFrom([]string{"", "#", " # x: [y"}).Draw(t, "comment")
			lines[i] = line + space + strings.Repeat(" ", min(len(note), 1)) + note + strings.Repeat("\n", rapid.IntRange(0, 2).Draw(t, "lines"))
		}
		doc, err := mcppolicy.Parse("p.yaml", []byte(strings.Join(lines, "\n")))
		if err != nil || doc.Hash() != "48034d9ab3fcc353929e66557933890e1541c140f397268fe4168be24d19d76c" {
			t.Fatalf("%v for\n%s", err, strings.Join(lines, "\n"))
		}
	})
}
