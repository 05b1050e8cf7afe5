//go:build !unix

package egress

import "math"

// maxFiles is how many descriptors this process may open: there is no limit to ask for.
func maxFiles() int { return math.MaxInt32 }
