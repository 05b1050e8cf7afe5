//go:build unix

package policy_test

import (
	"regexp"
	"testing"

	"github.com/durward/durward/internal/policy"
)

func TestTheHashFollowsTheEffectAndNothingElse(t *testing.T) {
	base := "{mode: workspace-write, limits: {wallMs: 16, pids: 300}, filesystem: {read: [/usr, '~/notes']}, env: {set: {A: x}}}"
	hash := compile(t, base).Hash()
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(hash) {
		t.Errorf("got %s", hash)
	}
	for name, text := range map[string]string{
		"order":             "{env: {set: {A: x}}, filesystem: {read: ['~/notes', /usr]}, limits: {pids: 300, wallMs: 16}, mode: workspace-write}",
		"comments and form": "# why\nsandbox:\n  mode: workspace-write # so\n  limits:\n    wallMs: 16\n    pids: 300\n  filesystem:\n    read:\n    - /usr\n    - ~/notes\n  env:\n    set:\n      A: 'x'\n",
		"spelt numbers":     "{mode: workspace-write, limits: {wallMs: 0x10, pids: 3_00}, filesystem: {read: [/usr, '~/notes']}, env: {set: {A: x}}}",
		"said twice":        "{mode: workspace-write, limits: {wallMs: 16, pids: 300}, filesystem: {read: [/usr, /usr/bin, /bin, '~/notes?']}, env: {set: {A: x}}}",
		"defaults written":  "{mode: workspace-write, level: auto, limits: {wallMs: 16, pids: 300, graceMs: 2000}, filesystem: {read: [/usr, '~/notes'], view: private}, network: {mode: none}, env: {set: {A: x, LANG: C.UTF-8}}, identity: auto}",
	} {
		if got := compile(t, text).Hash(); got != hash {
			t.Errorf("%s changes the hash", name)
		}
	}
	seen := map[string]string{hash: "the first"}
	for name, text := range map[string]string{
		"mode":     "{mode: danger-full-access}",
		"level":    "{mode: workspace-write, level: 1}",
		"minLevel": "{mode: workspace-write, minLevel: 1}",
		"require":  "{mode: workspace-write, require: [mem]}",
		"kernel":   "{mode: workspace-write, require: [mem!]}",
		"read":     "{mode: workspace-write, filesystem: {read: [/opt]}}",
		"write":    "{mode: workspace-write, filesystem: {write: [/opt]}}",
		"deny":     "{mode: workspace-write, filesystem: {deny: ['${workspace}/src']}}",
		"globs":    "{mode: workspace-write, filesystem: {deny: ['${workspace}/*']}}",
		"protect":  "{mode: workspace-write, filesystem: {protect: []}}",
		"exec":     "{mode: workspace-write, filesystem: {exec: []}}",
		"view":     "{mode: workspace-write, filesystem: {view: host-ro}}",
		"overlay":  "{mode: workspace-write, filesystem: {copyOnWrite: true}}",
		"network":  "{mode: workspace-write, network: {mode: full}}",
		"allow":    "{mode: workspace-write, network: {mode: allowlist, allow: ['a:1']}}",
		"private":  "{mode: workspace-write, network: {mode: allowlist, allow: ['a:1'], allowPrivate: [10.0.0.0/8]}}",
		"sni":      "{mode: workspace-write, network: {mode: allowlist, allow: ['a:1'], requireSNI: false}}",
		"sockets":  "{mode: workspace-write, network: {unixSockets: [/srv]}}",
		"cpu":      "{mode: workspace-write, limits: {cpuMs: 1}}",
		"space":    "{mode: workspace-write, limits: {addressSpaceBytes: 1}}",
		"set":      "{mode: workspace-write, env: {set: {A: y}}}",
		"pass":     "{mode: workspace-write, env: {pass: [TERM]}}",
		"home":     "{mode: workspace-write, env: {set: {HOME: /h}}}",
		"identity": "{mode: workspace-write, identity: '5:5'}",
		"nothing":  "{mode: workspace-write}",
	} {
		got := compile(t, text).Hash()
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[got] = name
	}
}

func TestThePassedValueIsNoPartOfThePolicy(t *testing.T) {
	other := host()
	other.Environ = map[string]string{"TERM": "dumb"}
	if compile(t, "env: {pass: [TERM]}").Hash() != compileOn(t, other, "env: {pass: [TERM]}").Hash() {
		t.Error("the hashes differ")
	}
}

func TestADefaultAndTheSameDocumentDiffer(t *testing.T) {
	if defaultPolicy(t, policy.Flags{}).Hash() == compile(t, "{}").Hash() {
		t.Error("what steps down and what does not have the same hash")
	}
}
