// Package jobstest is a fake jobs daemon for tests: a real gRPC server on a
// unix socket, a loopback port or in memory, that answers as the daemon does
// (order, codes and texts; a bad token before gRPC, as HTTP 401; whole rows in
// watches; capabilities; each agent its own jobs) and runs BINs that are Go
// functions or real programs.
//
//	func TestMyAgent(t *testing.T) {
//		d := jobstest.New(t, jobstest.Options{Bins: map[string]jobstest.Bin{
//			"report": jobstest.Prints("42 rows\n", 0),
//			"jq":     {Path: "/usr/bin/jq"},
//		}})
//		d.Setenv(t) // OTTERSD_URL and OTTERS_AGENT_TOKEN, as an agent finds them
//		… run the agent …
//		if calls := d.CallsOf(jobstest.MethodSubmit); len(calls) != 1 {
//			t.Errorf("the agent submitted %d jobs", len(calls))
//		}
//	}
//
// # What can go wrong
//
// Kill, Stop, Restart, Hang, Resume and Cut are what happens to daemons. Inject
// makes single calls slow, hang, fail, or lose their answers. AddJob, Update,
// Finish and Forget write into the daemon's database, also while it is down: a
// job with 40 MB of output, with output that is no text, or one that is gone
// after a restart.
//
// # What is seen
//
// Calls, CallsOf, Accepts, Conns and Watches tell what arrived, tokens included;
// Job and Jobs what the daemon holds.
//
// # What differs
//
// Watches hear of changes at once unless Options.WatchInterval says otherwise
// (the daemon looks every 250 ms), and output is in the row as soon as it is
// written (every 200 ms there). Pending jobs start in the order in which they
// came, which the daemon does not promise. The endpoints speak gRPC only, not
// Connect's JSON.
//
// # Trust
//
// The daemon runs what its Options name, for whoever has a token, and over TCP
// for everybody on this machine (the operator needs none, as at the real one).
// It is made for tests and demonstrations.
package jobstest
