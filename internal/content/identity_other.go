//go:build !unix

package content

func identityAt(string) (identity, bool) { return identity{}, false }
