package jobsdpb_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
	"github.com/fantasytools/fantasytools/internal/protocheck"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheGeneratedCodeIsCurrent(t *testing.T) {
	protocheck.Current(t, jobsdpb.File_fantasytools_jobsd_v1_jobsd_proto, "jobsd")
}

func TestNothingIsRegisteredUnderTheOriginalsNames(t *testing.T) {
	file := jobsdpb.File_fantasytools_jobsd_v1_jobsd_proto
	if !strings.HasPrefix(file.Path(), "fantasytools/") || file.Package() != "fantasytools.jobsd.v1" {
		t.Errorf("registered as %s of %s", file.Path(), file.Package())
	}
}
