package fsroot

func openers() map[string]opener {
	return map[string]opener{"kernel": kernel{}, "walk": walker{}}
}
