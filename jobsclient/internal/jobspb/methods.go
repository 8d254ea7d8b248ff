// Package jobspb holds the wire messages of the daemon's job calls and the
// paths those calls have. The messages are registered under a protobuf package
// of our own, so that the daemon's own package can be linked beside them.
package jobspb

//go:generate ./generate.sh

// Service is the full name of the daemon's gRPC service, as it stands in the
// paths of its calls.
const Service = "openotters.daemon.v1.Runtime"

// Names of the service's job calls.
const (
	Submit = "SubmitAsyncJob"
	Cancel = "CancelAsyncJob"
	Get    = "GetAsyncJob"
	List   = "ListAsyncJobs"
	Watch  = "WatchAsyncJob" // answers with a stream
)

// Paths of the service's job calls.
const (
	SubmitPath = "/" + Service + "/" + Submit
	CancelPath = "/" + Service + "/" + Cancel
	GetPath    = "/" + Service + "/" + Get
	ListPath   = "/" + Service + "/" + List
	WatchPath  = "/" + Service + "/" + Watch
)
