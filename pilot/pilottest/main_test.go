package pilottest

import (
	"errors"
	"testing"
)

func TestOpenWantsMainToBeCalled(t *testing.T) {
	mainCalled.Store(false)
	defer mainCalled.Store(true)
	if _, err := Open(Config{Dir: t.TempDir()}); !errors.Is(err, ErrNoMain) {
		t.Errorf("%v", err)
	}
}
