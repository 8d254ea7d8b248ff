package store

import (
	"context"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

// HoldOnce writes a lease that is not renewed.
func (s *Store) HoldOnce(ctx context.Context, worker string) (string, error) {
	_, err := s.renew(ctx, &jobsdpb.Worker{Id: worker}, 0)
	return worker, err
}

// Drop drops a record, as Keep does with the oldest ones when there are too many.
func (s *Store) Drop(ctx context.Context, r *jobsdpb.Record) error { return s.drop(ctx, key(r)) }
