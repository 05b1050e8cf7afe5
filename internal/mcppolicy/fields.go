package mcppolicy

import "github.com/durward/durward"

// A field is one row of the table of fields: all that is known about a member.
type field struct {
	name string
	// holds says what the member may be, and is bound to where it goes.
	holds holder
	doc   string
	// required members have no default.
	required bool
	// hashed members count for the hash even where they have their default.
	hashed bool
}

// required, basic and further make rows: of what has to be written, of the other members
// that are always hashed, and of those that came later.
func required(name string, h holder, doc string) field { return field{name, h, doc, true, true} }
func basic(name string, h holder, doc string) field    { return field{name, h, doc, false, true} }
func further(name string, h holder, doc string) field  { return field{name, h, doc, false, false} }

// The words that something hangs on.
const (
	withinRoot = "withinRoot"
	fixedCwd   = "fixed"
	noCwd      = "none"
	scopeRoots = "roots"
	scopeNone  = "none"
	keepHead   = "head"
	keepTail   = "tail"
	keepNone   = "none"
)

// Bounds of integers.
const (
	maxFileBytes = 1 << 40
	maxKept      = 1 << 30
	maxCount     = 1<<53 - 1 // the last integer that every JSON reader knows
)

func (d *Document) fields() []field {
	return []field{
		required("version", &count{into: &d.Version, low: 1, high: 1}, "The format of this file: 1."),
		basic("denyNetworkFS", &flag{into: &d.DenyNetworkFS, preset: true}, "Refuse files on network file systems."),
		required("allowedRoots", &texts{into: &d.AllowedRoots, form: pathForm, least: 1}, "Directories within which files may be read: absolute, or in the home directory (~/…). One in the form of another system is skipped."),
		basic("writeRules", &objects[WriteEntry]{into: &d.WriteRules, fields: (*WriteEntry).fields}, "Where files may be written."),
		basic("commands", &objects[CommandEntry]{into: &d.Commands, fields: (*CommandEntry).fields}, "The commands that may be run."),
		basic("logging", &object{where: &d.Logging.Where, fields: d.Logging.fields}, "The log and the audit log."),
		basic("limits", &object{where: &d.Limits.Where, fields: d.Limits.fields}, "Limits of all calls."),
		further("denyHardLinks", &flag{into: &d.DenyHardLinks}, "Refuse files that have more than one name."),
		further("allowRootFilesystem", &flag{into: &d.AllowRootFilesystem}, "Accept / as an allowed root."),
		further("strictVirtual", &flag{into: &d.StrictVirtual}, "Count virtiofs and 9p as network file systems."),
		further("outputRetention", &word{into: &d.OutputRetention, preset: keepHead, words: []string{keepHead, keepTail}}, "Which end of an output is kept at its limit."),
		further("sandbox", &sandbox{into: &d.Sandbox}, "What holds every command that has no sandbox of its own."),
		further("profiles", &objects[ProfileEntry]{into: &d.Profiles, fields: (*ProfileEntry).fields}, "Narrower forms of this policy, chosen with --profile."),
	}
}

func (e *WriteEntry) fields(where durward.Position) []field {
	e.Where = where
	return []field{
		required("path", &text{into: &e.Path, form: pathForm}, "A directory, or a file, within an allowed root."),
		basic("recursive", &flag{into: &e.Recursive}, "Also what lies deeper."),
		basic("maxFileBytes", &count{into: &e.MaxFileBytes, preset: 10_000_000, low: 1, high: maxFileBytes}, "The size of the largest file."),
		basic("createIfMissing", &flag{into: &e.CreateIfMissing}, "Make directories that are missing, the path itself included."),
	}
}

func (e *CommandEntry) fields(where durward.Position) []field {
	e.Where = where
	return []field{
		required("id", &text{into: &e.ID, form: idForm}, "The name by which the command is asked for."),
		required("exec", &text{into: &e.Exec, form: execForm}, "The program: an absolute path, or a bare name that is looked up once on the server's PATH."),
		further("description", &text{into: &e.Description}, "What a model is told about the command."),
		basic("args", &object{where: &e.Args.Where, fields: e.Args.fields}, "Which arguments are accepted."),
		basic("cwdPolicy", &word{into: &e.CwdPolicy, preset: withinRoot, words: []string{withinRoot, fixedCwd, noCwd}}, "The working directory: one within an allowed root that the request names, a fixed one, or none to choose."),
		further("cwd", &text{into: &e.Cwd, form: pathForm}, "The fixed working directory; without it, the directory of the program."),
		basic("envAllowlist", &texts{into: &e.EnvAllowlist, form: envForm, check: refuseLoader}, "Variables that a request may set."),
		further("env", &variables{into: &e.Env}, "Variables with a fixed value, which no request may set."),
		basic("timeoutMs", &count{into: &e.TimeoutMs, preset: 30_000, low: 1, high: 3_600_000}, "The longest run."),
		basic("maxOutputBytes", &count{into: &e.MaxOutputBytes, preset: 1_000_000, low: 1, high: maxKept}, "What is kept of both outputs together."),
		basic("platform", &texts{into: &e.Platform, words: []string{"linux", "macos", "windows"}}, "Systems that have the command; none means all."),
		further("sandbox", &sandbox{into: &e.Sandbox}, "What holds this command."),
	}
}

func (e *ArgsEntry) fields() []field {
	return []field{
		basic("allow", &texts{into: &e.Allow}, "Arguments that are accepted as they stand here, to the byte."),
		basic("fixed", &texts{into: &e.Fixed}, "Arguments that come before those of the request."),
		basic("patterns", &objects[PatternEntry]{into: &e.Patterns, fields: (*PatternEntry).fields}, "Patterns of arguments that are accepted."),
		further("any", &flag{into: &e.Any}, "Accept every argument, options included, that the other rules let through."),
		further("allowMetacharacters", &flag{into: &e.AllowMetacharacters}, "Accept characters that mean something to a shell."),
		further("pathScope", &word{into: &e.PathScope, preset: scopeRoots, words: []string{scopeRoots, scopeNone}}, "Whether an argument that looks like a path has to lie within an allowed root."),
	}
}

func (e *PatternEntry) fields(where durward.Position) []field {
	e.Where = where
	return []field{
		required("type", &word{into: &e.Type, words: []string{"regex"}}, "The language of the pattern."),
		required("value", &text{into: &e.Value, most: maxPatternBytes, check: refusePattern}, "A regular expression of RE2 for the whole argument. Options are accepted only if every branch begins with a hyphen."),
	}
}

func (e *LoggingEntry) fields() []field {
	return []field{
		basic("level", &word{into: &e.Level, preset: "info", words: []string{"trace", "debug", "info", "warn", "error"}}, "The least that is logged; the command line wins."),
		further("file", &text{into: &e.File, form: pathForm}, "The file that the audit log goes to."),
		basic("redact", &texts{into: &e.Redact, preset: []string{"env"}, words: []string{"env", "args", "path", "cwd", "stdin"}}, "What the audit log leaves out."),
		further("maxBytes", &count{into: &e.MaxBytes, preset: 10_000_000, low: 1, high: maxFileBytes}, "The size at which a new file is begun."),
		further("keep", &count{into: &e.Keep, preset: 10, low: 1, high: 10_000}, "How many old files are kept."),
	}
}

func (e *LimitsEntry) fields() []field {
	return []field{
		basic("maxReadBytes", &count{into: &e.MaxReadBytes, preset: 5_000_000, low: 1, high: maxKept}, "How far into a file may be read."),
		basic("maxCmdConcurrency", &count{into: &e.MaxCmdConcurrency, preset: 2, low: 1, high: 256}, "Commands at once; others wait."),
		further("maxAddressSpaceBytes", &count{into: &e.MaxAddressSpaceBytes, low: 1, high: maxCount}, "The address space of each process of a command."),
	}
}

func (e *ProfileEntry) fields(where durward.Position) []field {
	e.Where = where
	return []field{
		required("name", &text{into: &e.Name, form: idForm}, "The name by which the profile is chosen."),
		required("commands", &texts{into: &e.Commands, form: idForm}, "The commands that are left."),
		basic("writeRules", &word{into: &e.WriteRules, preset: keepNone, words: []string{keepNone, "same"}}, "Whether anything may be written."),
		further("limits", &object{where: &e.Limits.Where, fields: e.Limits.narrower}, "Limits, none above those of the policy."),
	}
}

// narrower lists the limits without their defaults.
func (e *LimitsEntry) narrower() []field {
	fields := e.fields()
	for i := range fields {
		fields[i].holds.(*count).preset = 0
		fields[i].hashed = false
	}
	return fields
}
