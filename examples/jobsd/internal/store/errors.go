package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What callers branch on.
var (
	ErrNotFound    = errors.New("no such job")
	ErrConflict    = errors.New("the job was changed by someone else")
	ErrQueueFull   = errors.New("the queue is full")
	ErrFull        = errors.New("the store of jobs is full")
	ErrTooLarge    = errors.New("the job is too large")
	ErrUnavailable = errors.New("JetStream cannot be reached")
)

// Codes of JetStream that nats.go has no names for.
const (
	codeStoreFailed       = 10077 // storing failed, and the text says why
	codeStorageFull       = 10047
	codeInsufficient      = 10023
	codeMessageTooLarge   = 10054
	codeWrongLastSequence = 10071
	codeWrongLastConstant = 10164
)

// explain makes one of the errors above of what nats.go returns, where it is one.
func explain(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted), errors.Is(err, jetstream.ErrMsgNotFound):
		return ErrNotFound
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.As(err, &api):
		return explainCode(api)
	case transient(err):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

func explainCode(err *jetstream.APIError) error {
	switch err.ErrorCode {
	case codeWrongLastSequence, codeWrongLastConstant:
		return ErrConflict
	case codeStorageFull, codeInsufficient:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case codeMessageTooLarge:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case codeStoreFailed:
		if strings.Contains(err.Description, "maximum") {
			return fmt.Errorf("%w: %w", ErrFull, err)
		}
	}
	if transient(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// transient tells whether the same call may succeed in a moment: a server has
// died, a leader is being elected, the connection is being made anew.
func transient(err error) bool {
	for _, passing := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrNoServers,
		nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, context.DeadlineExceeded, jetstream.ErrServerShutdown,
		jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code >= 500 && explainable(api)
}

// explainable tells apart a server in trouble from one that refuses for good.
func explainable(err *jetstream.APIError) bool {
	switch err.ErrorCode {
	case codeStorageFull, codeInsufficient, jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return false
	case codeStoreFailed:
		return !strings.Contains(err.Description, "maximum")
	}
	return true
}

// retry calls try until it succeeds, fails for good, or the context ends; then
// the error is ErrUnavailable with the last one. Each attempt has writeTimeout.
func (s *Store) retry(ctx context.Context, try func(context.Context) error) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		err := try(attempt)
		cancel()
		if err == nil || !transient(err) {
			return explain(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case <-time.After(wait/2 + rand.N(wait)):
		}
	}
}
