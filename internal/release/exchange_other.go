//go:build !linux && !darwin

package release

func exchange(string, string) error { return errNoExchange }
