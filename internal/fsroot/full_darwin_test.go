package fsroot

import "errors"

func mountTiny(string) error { return errors.ErrUnsupported }

func hideOpenat2() error { return errors.ErrUnsupported }
