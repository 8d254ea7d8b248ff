//go:build unix

package tool

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVar makes the test binary one of the programs that tests run.
const childVar = "FANTASYTOOLS_TEST_CHILD"

// children are those programs, by the value of childVar.
var children = map[string]func(){
	"argv": printArgv,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childVar)]; child != nil {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}
