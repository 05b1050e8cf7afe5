package mcp

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A Surface is what a client is shown of a policy.
type Surface struct {
	// Commands are what cmd.run can be asked for on this system, in any order.
	Commands []Command
	// PolicyHash stands in every error.
	PolicyHash string
	// Dotted advertises the tools as fs.read instead of fs_read. Both can be called.
	Dotted bool
	// Folder offers list_directory, read_file and write_file in place of the three tools.
	Folder bool
	// Resources offers the commands, and Summary if it is set, to be read.
	Resources bool
	// MaxReadBytes is the end of what fs.read can read; zero means that it is not known.
	MaxReadBytes int64
	// MaxCommands is how many commands run at once; zero means that it is not known.
	MaxCommands int64
	// Summary is an object that tells of the policy what a client may know.
	Summary json.RawMessage
}

// A Command is one entry of a policy, without its program and environment.
type Command struct {
	ID             string   `json:"id"`
	Description    string   `json:"description"`
	Allow          []string `json:"allow"`
	Patterns       []string `json:"patterns"`
	CWDPolicy      string   `json:"cwdPolicy"`
	TimeoutMs      int64    `json:"timeoutMs"`
	MaxOutputBytes int64    `json:"maxOutputBytes"`
}

// sorted gives the commands in the order of their ids, with lists that are not nil.
func (s Surface) sorted() []Command {
	list := slices.Clone(s.Commands)
	slices.SortFunc(list, func(a, b Command) int { return cmp.Compare(a.ID, b.ID) })
	for i := range list {
		list[i].Allow = append([]string{}, list[i].Allow...)
		list[i].Patterns = append([]string{}, list[i].Patterns...)
	}
	return list
}

func (s Surface) ids() []string {
	var ids []string
	for _, c := range s.sorted() {
		ids = append(ids, c.ID)
	}
	return ids
}

// timeoutMs is what a call of a command gets when it asks for so many milliseconds, or
// for none. Zero means unknown.
func (s Surface) timeoutMs(id string, asked int64) int64 {
	for _, c := range s.Commands {
		if c.ID == id && c.TimeoutMs > 0 && (asked == 0 || c.TimeoutMs < asked) {
			return c.TimeoutMs
		}
	}
	return asked
}
