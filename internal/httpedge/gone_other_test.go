//go:build !linux

package httpedge_test

import (
	"net"
	"testing"
)

var goneHere []struct {
	name    string
	hidden  bool
	request string
	leave   func(*testing.T, *net.TCPConn)
}
