// Package jobsdpb holds the messages of the five calls that jobsd serves, their
// paths, and the messages that it keeps in JetStream.
package jobsdpb

//go:generate ./generate.sh

// Service is the full name of the original daemon's gRPC service, as it stands in
// the paths of its calls.
const Service = "openotters.daemon.v1.Runtime"

// Paths of the calls. Watch answers with a stream.
const (
	SubmitPath = "/" + Service + "/SubmitAsyncJob"
	CancelPath = "/" + Service + "/CancelAsyncJob"
	GetPath    = "/" + Service + "/GetAsyncJob"
	ListPath   = "/" + Service + "/ListAsyncJobs"
	WatchPath  = "/" + Service + "/WatchAsyncJob"
)
