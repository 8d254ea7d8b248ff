package front

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

func TestAnOutageAndAFullStoreAreToldOncePerThingThatTheyPrevent(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	f := &Front{Config: Config{Logger: zap.New(core)}}
	away := fmt.Errorf("%w: no answer", store.ErrUnavailable)
	for range 100 {
		f.trouble("reading a job", away)
		f.trouble("listing jobs", away)
	}
	for range 100 {
		f.trouble("submitting a job", fmt.Errorf("%w: so many bytes", store.ErrFull))
	}
	for range 3 {
		f.trouble("reading a job", errors.New("something else"))
	}
	if n := logged.Len(); n != 6 {
		t.Errorf("%d lines were logged: %v", n, logged.All())
	}
}
