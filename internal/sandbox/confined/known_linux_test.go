package confined

import (
	"reflect"
	"slices"
	"testing"

	"github.com/durward/durward"
)

// A grant that is the same again comes to the same, and one that differs in anything that
// decides over files does not, even when it was made by changing the lists of another.
func TestAGrantIsKnownAgain(t *testing.T) {
	w := newWorld(t)
	k := newKeeper(t)
	under := func(g durward.Grant) *Access {
		t.Helper()
		a, err := k.Under(g)
		must(t, err)
		return a
	}
	g := w.grant()
	first := under(g)
	again := own(g)
	again.Env, again.Network = map[string]string{"A": "b"}, durward.Network{Mode: durward.NetFull}
	if under(again) != first {
		t.Error("a grant for the same files is not known")
	}
	if !reflect.DeepEqual(g, w.grant()) {
		t.Errorf("the grant was changed to %+v", g)
	}
	g.Files.Write[0] = t.TempDir()
	if a := under(g); a == first || a.terms.key == first.terms.key {
		t.Error("a grant is taken for what it was before")
	}
	for name, change := range map[string]func(*durward.Grant){
		"mode":      func(g *durward.Grant) { g.Mode, g.Files.Read, g.Files.Write = durward.ReadOnly, g.Files.Write, nil },
		"step down": func(g *durward.Grant) { g.StepDown = !g.StepDown },
		"require":   func(g *durward.Grant) { g.Require = []durward.Requirement{{Guarantee: durward.FSRead}} },
		"deny":      func(g *durward.Grant) { g.Files.Deny = append(g.Files.Deny, w.work+"/denied") },
		"globs":     func(g *durward.Grant) { g.Files.DenyGlobs = append(g.Files.DenyGlobs, w.work+"/*.key") },
	} {
		other := own(w.grant())
		change(&other)
		if under(other) == first {
			t.Errorf("%s: another grant is taken for the first", name)
		}
	}
	for range 2 * mostPools {
		under(durward.Grant{Mode: durward.ReadOnly, Files: durward.Files{Read: []string{t.TempDir()}}})
	}
	if n := len(k.accesses.known); n > mostPools || slices.ContainsFunc(k.accesses.known, func(k *known) bool { return k.access == first }) {
		t.Errorf("%d grants are known, the first of all among them", n)
	}
}

// Grants differ by each member that is there.
func TestEveryMemberOfAGrantCounts(t *testing.T) {
	full := func() reflect.Value { return reflect.New(reflect.TypeFor[durward.Grant]()).Elem() }
	whole := full()
	whole.Set(reflect.ValueOf(aboutFilesAlone(durward.Grant{Mode: "x", StepDown: true, Require: make([]durward.Requirement, 1)})))
	for _, name := range []string{"Mode", "StepDown", "Require"} {
		other := full()
		other.FieldByName(name).Set(whole.FieldByName(name))
		if equal(other.Addr().Interface().(*durward.Grant), new(durward.Grant)) {
			t.Errorf("grants are equal whatever their %s", name)
		}
	}
	for field := range reflect.TypeFor[durward.Files]().Fields() {
		var other durward.Grant
		switch v := reflect.ValueOf(&other.Files).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		if equal(&other, new(durward.Grant)) {
			t.Errorf("grants are equal whatever their %s", field.Name)
		}
	}
}
