package cli

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/sandbox/unproven"
)

// levels says what was tried for each level. system is /proc/sys.
func levels(host sandbox.Host, system fs.FS) []levelData {
	zero := levelData{Detail: "no containment works: commands are refused"}
	for _, t := range host.Trials {
		c := trial(string(t.Containment), effect(t.Containment), t.Err, system)
		zero.Trials = append(zero.Trials, c)
		if c.OK && !zero.Available {
			zero.Available = true
			zero.Detail = "clean environment, limits, and the end of the whole tree by " + c.Name + slower(host.SharedErr)
		}
		if errors.Is(t.Err, unproven.Err) {
			return unprovenLevels(zero, host, system)
		}
	}
	zero.Trials = append(zero.Trials, trial("userns", "the kernel counts the processes of a call", host.UserNamespaceErr, system))
	if zero.Available {
		_, err := host.Memory()
		zero.Trials = append(zero.Trials, trial("memory", "the kernel bounds the memory of a call", err, system))
	}
	return []levelData{
		zero,
		higher(host, durward.LevelRestrict, "files, sockets and system calls by rules (Landlock, seccomp)", system),
		higher(host, durward.LevelIsolate, "a private root, and namespaces, around the same", system),
	}
}

// slower says why each start takes longer than it could, if it does.
func slower(shared error) string {
	if shared == nil {
		return ""
	}
	return "; each start is slower, as it makes a copy of durward's process (" + safetext.Line(shared.Error()) + ")"
}

// unprovenLevels are those of a system whose sandbox was never run: commands are, by
// whoever asks for nothing to be held.
func unprovenLevels(zero levelData, host sandbox.Host, system fs.FS) []levelData {
	zero.Available = true
	zero.Detail = "only for built-in policies and those that confine nothing; nothing is reported as held"
	return []levelData{zero, higher(host, durward.LevelRestrict, "", system), higher(host, durward.LevelIsolate, "", system)}
}

// higher says whether a level can be had, by what was tried.
func higher(host sandbox.Host, at durward.Level, gives string, system fs.FS) levelData {
	err := host.Level(at)
	l := levelData{Level: at.Number(), Available: err == nil, Detail: gives}
	if err != nil {
		l.Detail = "cannot be had here"
	}
	l.Trials = []checkData{trial("effect", effectOf(at), err, system)}
	return l
}

// effectOf says what was seen to fail.
func effectOf(at durward.Level) string {
	if at == durward.LevelIsolate {
		return "a command saw nothing of the machine's root, could not write its own, make a socket or mount; its child was dead after it"
	}
	return "a command could not open a file outside, make a socket or mount; its child was dead after it"
}

func effect(c sandbox.Containment) string {
	switch c {
	case sandbox.PIDNamespace:
		return "the kernel ends all processes of a call with its first"
	case sandbox.Cgroup:
		return "the kernel ends all processes of a call at once"
	}
	return "descendants are followed and ended one by one: best effort"
}

func trial(name, gives string, err error, system fs.FS) checkData {
	c := checkData{Name: name, OK: err == nil, Gives: gives}
	if err != nil {
		c.Error, c.Fix = safetext.Line(strings.ReplaceAll(err.Error(), "\n", "; ")), settingFor(name, err, system)
	}
	return c
}

// namespaceSettings are the settings of a kernel that forbid namespaces, with the value
// that does.
var namespaceSettings = []struct{ file, forbids, fix string }{
	{"user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"},
	{"user/max_pid_namespaces", "0", "sysctl -w user.max_pid_namespaces=10000"},
	{"kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"},
	{
		"kernel/apparmor_restrict_unprivileged_userns", "1",
		"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for durward that has the rule userns,",
	},
}

// settingFor names the exact setting that stands in the way of a trial.
func settingFor(name string, err error, system fs.FS) string {
	if errors.Is(err, unproven.Err) {
		return unproven.Hint
	}
	switch name {
	case string(sandbox.PIDNamespace), "userns":
		return namespaceFix(system)
	case "effect":
		return levelFix(err, system)
	case "memory":
		return "run it as root, or under systemd-run --user --scope -p Delegate=yes; until then memory is looked at now and then"
	case string(sandbox.Cgroup):
		if errors.Is(err, fs.ErrPermission) {
			return "run it under systemd-run --user --scope -p Delegate=yes, or as root"
		}
		return "mount cgroup version 2 writable and let durward have a cgroup of its own"
	}
	return "allow pidfd_open and prctl in the seccomp filter around durward"
}

// levelFix is the hint of whoever refused, or the setting that stands in the way.
func levelFix(err error, system fs.FS) string {
	if e := durward.AsError(err); e != nil && e.Reason == durward.SandboxUnavailable && e.Hint != "" {
		return e.Hint
	}
	return namespaceFix(system)
}

func namespaceFix(system fs.FS) string {
	for _, s := range namespaceSettings {
		value, err := fs.ReadFile(system, s.file)
		if err == nil && strings.TrimSpace(string(value)) == s.forbids {
			return s.fix
		}
	}
	return "allow clone and unshare with namespace flags in the seccomp filter around durward (a container: --security-opt seccomp=FILE)"
}
