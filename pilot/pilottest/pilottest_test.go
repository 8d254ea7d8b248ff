package pilottest_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestMain(m *testing.M) {
	pilottest.Main()
	_ = flag.Set("test.parallel", "6") // most tests wait for processes, not for a processor
	goleak.VerifyTestMain(m)
}
