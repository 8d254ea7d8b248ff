package front

import (
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/store"
)

// sayAgain is how often the log is told, of each thing that JetStream prevents, that
// it does: while it is away or full every call and every feed meets the same trouble.
const sayAgain = 10 * time.Second

// troubles is what the log was told.
type troubles struct {
	mu   sync.Mutex
	said map[string]time.Time
	kept map[string]int // from the log since
}

// trouble logs that something did not succeed. The repetitions while JetStream is
// away or full are counted, and seen only by who wants every detail.
func (f *Front) trouble(doing string, err error, fields ...zap.Field) {
	fields = append(fields, zap.Error(err))
	if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull) {
		f.Logger.Warn(doing, fields...)
		return
	}
	repeated, due := f.troubles.due(doing, time.Now())
	switch {
	case !due:
		f.Logger.Debug(doing, fields...)
	case repeated > 0:
		f.Logger.Warn(doing, append(fields, zap.Int("times_before", repeated))...)
	default:
		f.Logger.Warn(doing, fields...)
	}
}

// due tells whether the log is to be told, and how often it was not since it was.
func (t *troubles) due(doing string, now time.Time) (repeated int, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == nil {
		t.said, t.kept = map[string]time.Time{}, map[string]int{}
	}
	if now.Sub(t.said[doing]) < sayAgain {
		t.kept[doing]++
		return 0, false
	}
	repeated = t.kept[doing]
	t.said[doing], t.kept[doing] = now, 0
	return repeated, true
}
