//go:build !linux

package release

import "testing"

func TestMain(m *testing.M) { verifyMain(m) }
