package pilot

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestMain(m *testing.M) {
	pilottest.Main()
	goleak.VerifyTestMain(m)
}
