// Package front answers the five calls of a jobs daemon from the state that
// package store keeps. Any number of fronts may serve one state; none of them
// holds any of it, so one that dies loses nothing.
//
//	f := front.New(front.Config{Store: s, Agents: registry, OperatorToken: token})
//	go f.Run(ctx)
//	server := &http.Server{Handler: f.Handler(false)}
//
// # Calls
//
// The handler speaks gRPC, gRPC-Web and Connect, at the original daemon's paths
// and with its codes and texts, so its clients work. It differs where the original
// would surprise:
//
//   - Nothing is served without a token, on any transport; an operator has one,
//     too. The health check alone may be open.
//   - Output that is not UTF-8 is answered with U+FFFD in its place, and what is
//     not kept is announced by a line at its place. A character of which a running
//     job has written half is held back until the rest has come.
//   - A pending job can be cancelled.
//   - A list is the newest first, whatever its filter, and shows up to 4 KiB of
//     each text. Past 32 MiB its older rows come without them, and with few args.
//   - An operator's rows have a label more, [AgentLabel].
//
// # Submit
//
// What could not run, or is above a bound, is refused as InvalidArgument before
// anything is stored; a full queue or store is ResourceExhausted. A submission
// that has begun goes on for up to 10 s though its client may be gone: it is
// stored and queued, or not at all. If JetStream does not answer in that time the
// answer is Unavailable and says that the job may exist; where it is certain that
// it does not, the answer says that.
//
// # Watch
//
// All watches of a job share a feed, and all feeds share one push of changes from
// the bucket; nothing is polled. A state is sent as soon as it is pushed. Output is
// followed once a job has been running for 100 ms, and shown at most every 100 ms
// and at no more than 8 MiB a second, since each message repeats the row. A slow
// client skips what is between; it never gets an older row after a newer one, and
// the last row is whole. If the push breaks off it is opened anew, and every feed
// reads its record then; it does so, too, after 30 s without a change. When Run
// ends, watches end with Unavailable, which makes clients come back.
//
// A feed holds what the store keeps of each stream twice, as bytes and as the row made
// of them. A stdin of more than 32 KiB is in the last row only.
// Each watch that is sending holds one message more.
//
// # Trust
//
// An agent sees its own jobs only, and those of others as if they were not there.
// Texts of JetStream stay in the log, and tokens are nowhere.
//
// A caller, which is an agent or the operator, has requests and answers of at most
// 128 MiB ([MaxInHand]) in hand at a time, and as many again for its watches; in
// memory that is about four times as much. Messages of up to 64 KiB are not counted.
// Answers wait for room for up to 10 s; so do 32 requests, of which nothing is read
// before there is room, and what exceeds that is refused as ResourceExhausted. A
// client has a minute to send a request and to take a message. Beside that, a feed
// holds what it shows for as long as it is watched.
//
// Agents are not protected from each other's appetite: they share the queue, the
// workers, and the room of the store.
package front
