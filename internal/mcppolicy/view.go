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
