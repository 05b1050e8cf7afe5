package file

import (
	"fmt"
	"strings"

	"github.com/durward/durward/internal/fsroot"
)

// mounts gives the mount table of a vector: the whole machine on one disk, and what else it
// says.
func (v vector) mounts(top string) *fsroot.MountTable {
	if len(v.Mounts) == 0 {
		return nil
	}
	table := "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
	for i, m := range v.Mounts {
		point := strings.ReplaceAll(strings.ReplaceAll(m.Point, "${T}", top), " ", `\040`)
		table += fmt.Sprintf("%d 1 0:%d / %s rw - %s source rw\n", i+2, i+40, point, m.Type)
	}
	return fsroot.MountsIn(table)
}
