package mcppolicy

import "encoding/json"

// A View is a policy as it is shown: what was written with its defaults, and what became
// of it on this machine.
type View struct {
	File    string          `json:"file"`
	Hash    string          `json:"policy_hash"`
	Profile string          `json:"profile,omitempty"`
	Policy  json.RawMessage `json:"policy"` // canonical, with the names of the document
	Roots   []PathView      `json:"roots"`
	Write   []PathView      `json:"write_rules"`
	// Commands are those of this platform.
	Commands []CommandView `json:"commands"`
	LogFile  string        `json:"log_file,omitempty"`
	Warnings []string      `json:"warnings"`
}

// A PathView is a path as written and as it is.
type PathView struct {
	Written  string `json:"written"`
	Physical string `json:"physical"`
	Where    string `json:"where"`
}

// A CommandView says what a command runs.
type CommandView struct {
	ID       string `json:"id"`
	Written  string `json:"written"`
	Exec     string `json:"exec"`
	Physical string `json:"physical"`
	Dir      string `json:"dir,omitempty"`
	Where    string `json:"where"`
}

// A summary is what a client may know of a policy.
type summary struct {
	PolicyHash    string         `json:"policyHash"`
	DenyNetworkFS bool           `json:"denyNetworkFS"`
	AllowedRoots  []string       `json:"allowedRoots"`
	WriteRules    []summaryWrite `json:"writeRules"`
	MaxReadBytes  int64          `json:"maxReadBytes"`
	MaxCommands   int64          `json:"maxCmdConcurrency"`
}

type summaryWrite struct {
	Path            string `json:"path"`
	Recursive       bool   `json:"recursive"`
	MaxFileBytes    int64  `json:"maxFileBytes"`
	CreateIfMissing bool   `json:"createIfMissing"`
}

// Summary tells, as a JSON object, what a client may know of the policy: its hash, and
// what may be read and written, as it was written. No program or variable is in it.
func (p *Policy) Summary() json.RawMessage {
	s := summary{
		PolicyHash: p.Hash, DenyNetworkFS: p.Document.DenyNetworkFS.Value, AllowedRoots: []string{}, WriteRules: []summaryWrite{},
		MaxReadBytes: p.Document.Limits.MaxReadBytes.Value, MaxCommands: p.Document.Limits.MaxCmdConcurrency.Value,
	}
	for _, r := range p.Roots {
		s.AllowedRoots = append(s.AllowedRoots, r.Written)
	}
	for _, r := range p.WriteRules {
		s.WriteRules = append(s.WriteRules, summaryWrite{r.Written, r.Recursive, r.MaxFileBytes, r.CreateIfMissing})
	}
	text, _ := json.Marshal(s) // strings and numbers
	return text
}

// View shows the policy.
func (p *Policy) View() View {
	text, _ := canonical(p.Document.fields()) // was hashed
	v := View{
		File: p.Document.Where.File, Hash: p.Hash, Profile: p.Profile, Policy: text, LogFile: p.LogFile,
		Roots: []PathView{}, Write: []PathView{}, Commands: []CommandView{}, Warnings: []string{},
	}
	for _, r := range p.Roots {
		v.Roots = append(v.Roots, PathView{r.Written, r.Path, r.Where.String()})
	}
	for _, r := range p.WriteRules {
		v.Write = append(v.Write, PathView{r.Written, r.Path, r.Where.String()})
	}
	for _, c := range p.Commands {
		v.Commands = append(v.Commands, CommandView{c.ID, c.Entry.Exec.Value, c.Exec, c.Physical, c.Dir, c.Entry.Where.String()})
	}
	for _, w := range p.Warnings {
		v.Warnings = append(v.Warnings, w.Error())
	}
	return v
}
