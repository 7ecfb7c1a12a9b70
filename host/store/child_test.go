package store

import (
	"os"
	"strconv"
)

// roleVar names, in the environment of a test binary, the child that it is.
const roleVar = "POISE_STORE_TEST_CHILD"

func childMain(role string) {}

func pid() string { return strconv.Itoa(os.Getpid()) }
