package cli

import "testing"

// A command line that names a command has that one alone, so each has to be in the list under
// every name that it goes by.
func TestCommandsGoByTheirNames(t *testing.T) {
	p, _, _ := start(t, nil, "/", nil)
	for _, m := range p.commandMakers() {
		if cmd := m.make(); cmd.Name() != m.name || len(cmd.Aliases) > 0 {
			t.Errorf("the list has %s, which is %s and also %q", m.name, cmd.Name(), cmd.Aliases)
		}
		if made := p.commands([]string{m.name, "--help"}); len(made) != 1 || made[0].Name() != m.name {
			t.Errorf("for %s these are made: %v", m.name, made)
		}
	}
	for _, words := range [][]string{nil, {"--json", "mcp"}, {"help", "mcp"}, {"__complete", "m"}, {"mpc"}} {
		if made := p.commands(words); len(made) != len(p.commandMakers()) {
			t.Errorf("for %q there are %d commands", words, len(made))
		}
	}
}
