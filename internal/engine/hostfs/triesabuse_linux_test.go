//go:build abuse

package hostfs

// tries is how often a race is run.
const tries = 1000
