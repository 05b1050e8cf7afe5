package execserver

import (
	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

func fsCode(_ string, err error) int {
	if durward.KindOf(err) == durward.NotFound {
		return int(protocol.NotFound)
	}
	return int(protocol.InternalError)
}
