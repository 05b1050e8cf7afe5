package mcpspec

import (
	"slices"

	"github.com/durward/durward/internal/jsonx"
)

// A Level is a place in the list of levels, from the least to the most urgent.
type Level int

// Silent is above every level.
const Silent Level = 8

func levelNames() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}

// LevelOf reads the name of a level, a JSON value. What is none is Silent.
func LevelOf(value []byte) (l Level, ok bool) {
	name, _ := jsonx.Text(value)
	return LevelNamed(name)
}

// LevelNamed gives the level of a name. What is none is Silent.
func LevelNamed(name string) (l Level, ok bool) {
	at := slices.Index(levelNames(), name)
	if at < 0 {
		return Silent, false
	}
	return Level(at), true
}

// String gives the name of a level; that of Silent is empty.
func (l Level) String() string {
	if l < 0 || l >= Silent {
		return ""
	}
	return levelNames()[l]
}
