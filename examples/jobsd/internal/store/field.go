package store

import (
	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/examples/jobsd/internal/jobsdpb"
)

func jobField(r *jobsdpb.Record) zap.Field { return zap.String("job", r.GetId()) }

func errField(err error) zap.Field { return zap.Error(err) }
