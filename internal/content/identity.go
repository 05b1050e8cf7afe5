package content

import "github.com/durward/durward/internal/fsroot"

// An identity tells whether two names are of one file.
type identity struct{ device, inode uint64 }

func identityOf(i fsroot.Info) identity { return identity{i.Device, i.Inode} }
