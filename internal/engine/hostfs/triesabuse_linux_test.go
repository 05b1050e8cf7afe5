//go:build abuse

package hostfs

import "testing"

// tries is how often a race is run.
const tries = 1000

func TestRacesRunOften(t *testing.T) {
	t.Run("renames", TestNothingOutsideIsTouchedByRenames)
	t.Run("a file that becomes a link", TestNothingOutsideIsTouchedByAFileThatBecomesALink)
	t.Run("a tree with links", TestATreeIsNotLeftByItsLinks)
}
