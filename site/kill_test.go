package site_test

// asServer names the variable that makes the test program serve a site until it is
// killed: its value is the site's directory.
const asServer = "DURWARD_TEST_SITE"

func serveUntilKilled(string) int { return 1 }
