//go:build !unix

package content

func identity(string) ([2]uint64, bool) { return [2]uint64{}, false }
