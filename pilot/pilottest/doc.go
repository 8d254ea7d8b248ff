// Package pilottest is a fake pilotctl on a small simulated Pilot network, for
// tests of programs that use the real one, and for examples that must run
// without it. No daemon, no registry, nothing beyond this machine.
//
// # A network in a test
//
// The test binary itself acts as pilotctl when it is started under that name.
// TestMain lets it:
//
//	func TestMain(m *testing.M) {
//		pilottest.Main() // does not return in a process that is pilotctl
//		os.Exit(m.Run())
//	}
//
//	func TestAsk(t *testing.T) {
//		network := pilottest.New(t, pilottest.V116)
//		me := network.AddNode(pilottest.Node{Name: "me"})
//		network.AddNode(pilottest.Node{Name: "bob"})
//		network.Trust("me", "bob")
//		network.Answer("bob", pilottest.Script{Default: "hello to you"})
//
//		client := &pilot.Client{Binary: network.Binary, Home: me.Home}
//		…
//		call := network.LastCall() // what pilotctl was given, before and after its own parsing
//	}
//
// A program uses [Open] in place of [New] and calls [Main] first thing in main.
// The command pilot/pilottest/cmd/pilotctl is the same as a program of its own.
//
// # Nodes
//
// [Network.AddNode] adds a node with a running daemon. Each node has a home
// directory with .pilot/config.json, an inbox and received files, laid out as the
// daemon of its [Generation] does. The process that has this home in HOME, or this
// node's socket in PILOT_SOCKET, is the node's pilotctl; under any other home the
// daemon is not running. Mailboxes go by HOME alone.
//
// [Network.Specialist] adds a service agent that answers by a [Script],
// [Network.Directory] the one that searches. A script is data, or a function
// that runs in the process that owns the network. Answers over [DefaultReplyLimit]
// bytes are cut with the marker that real specialists write.
//
// [Network.Trust], [Network.TrustOneWay], [Network.Request] and
// [Network.Approve] set up trust; [Network.SetDelays] makes it spread slowly.
// [Network.Stop], [Network.Crash] and [Network.Freeze] take a daemon away in three
// ways, [Network.Behave] makes one that refuses, stays mute or never acknowledges.
// A daemon takes ten connections a second from one sender; see [RateLimit].
//
// # Time
//
// Waiting takes as long as it does with the real pilotctl, unless
// [Network.SetSpeed] makes simulated time run faster. Whatever was delayed
// becomes true when its time has come, as soon as anybody looks.
//
// # Faults
//
// [Network.Fault] spoils runs of a verb: [Fault] lists the ways, from an error
// code over garbage on both streams to a process that hangs half way through its
// answer.
//
// # Generations
//
// [V12], [V113] and [V116] differ as the real ones do: which arguments vanish or
// become flags, what a failed send looks like, what is null when it is empty, how
// stored files are named. The answers of V12 are checked against calls that were
// recorded with pilotctl 1.2.2; those of the others follow what is published of them.
//
// # What it is not
//
// It simulates what can be seen through pilotctl: there is no socket to connect
// to, no encryption, no transport. It knows the 21 verbs of package pilot and
// info, health, context, version, trusted list, inbox read and daemon status; any other
// command is unknown to it.
//
// # Trust
//
// Everything in the network's directory can be read and changed by whoever may read
// and change its files: simulate nothing secret.
package pilottest
