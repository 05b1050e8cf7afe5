// Package coretest holds the rules of the core's interfaces as tests, one battery for
// each, that every implementation passes.
//
//	func TestEngine(t *testing.T) {
//		coretest.Engine(t, func(t *testing.T) coretest.Subject { … })
//	}
//
// [Source], [Engine], [Session] and [Recorder] look at one implementation. [SameCall]
// looks at all doors at once: the same call leaves the same records through each.
//
// [Script], [Memory] and [AllowAll] are test doubles for tests of what stands around an
// engine, a recorder and a policy. They say nothing about the real ones.
package coretest
