package kin

import (
	"slices"
	"testing"
)

func TestLook(t *testing.T) {
	const durward, shell = 50, 100
	listing := []Process{
		{ID: 1, Group: 1},
		{ID: durward, Parent: 1, Group: durward},
		{ID: 103, Parent: 102, Group: 102, Born: 4}, // listed before its parent
		{ID: shell, Parent: durward, Group: shell, Born: 1},
		{ID: 101, Parent: shell, Group: shell, Born: 2},
		{ID: 102, Parent: shell, Group: 102, Born: 3}, // it has left the group
		{ID: 104, Parent: 1, Group: shell, Born: 5},   // its parent is gone
		{ID: 200, Parent: durward, Group: 200, Born: 6},
		{ID: 201, Parent: 200, Group: 200, Born: 7},
	}
	f := Of(shell)
	if got, want := f.Look(listing), []int{103, shell, 101, 102, 104}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}

	t.Run("who was seen is remembered", func(t *testing.T) {
		f.End()
		after := []Process{{ID: 1, Group: 1}, {ID: 103, Parent: 1, Group: 102, Born: 4}, {ID: 105, Parent: 103, Group: 105, Born: 8}}
		if got, want := f.Look(after), []int{103, 105}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
	t.Run("an id that was given again is a stranger's", func(t *testing.T) {
		again := []Process{{ID: 103, Parent: 1, Group: 103, Born: 9}, {ID: 106, Parent: 103, Group: 103, Born: 10}}
		if got := f.Look(again); len(got) > 0 {
			t.Errorf("%v belong to somebody else", got)
		}
	})
	t.Run("so is a group", func(t *testing.T) {
		f := Of(shell)
		f.End()
		again := []Process{{ID: shell, Parent: 1, Group: shell, Born: 20}, {ID: 300, Parent: shell, Group: shell, Born: 21}}
		if got := f.Look(again); len(got) > 0 {
			t.Errorf("%v belong to somebody else", got)
		}
	})
	t.Run("a group that outlives its leader", func(t *testing.T) {
		f := Of(shell)
		f.End()
		if got := f.Look([]Process{{ID: 101, Parent: 1, Group: shell, Born: 2}}); !slices.Equal(got, []int{101}) {
			t.Errorf("%v, want 101", got)
		}
	})
}
