package cli

import "runtime/debug"

// serverGarbage is how much memory that nobody uses any more a server may hold before that is
// looked for, in percent of what is in use. Ours have little in use: with the 100 of other
// programs a busy one looks every hundred requests or so.
const serverGarbage = 200

// tolerateGarbage has a server look for unused memory half as often as other programs do. Who
// sets GOGC has it so.
func (p *program) tolerateGarbage() {
	if p.env["GOGC"] == "" {
		debug.SetGCPercent(serverGarbage)
	}
}
