// Package abuse holds the tests in which a command tries to get out of its sandbox.
package abuse
