// Package pilot offers the Pilot Protocol network to a Go program and to its
// agents: a typed API of the 21 verbs, [Client], and one tool a verb, [NewTools].
// It runs pilotctl, the network's command-line client, and takes care of what
// that leaves open: texts that begin with a dash arrive, a message that nobody
// acknowledged is not called delivered, trust is reported as it is, and a model
// reads the answer instead of JSON inside JSON inside JSON.
//
// # Tools for an agent
//
//	tools := pilot.BuildTools() // nil where pilotctl is not installed
//	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...))
//
// NewTools takes a client of your own and never looks for pilotctl before a tool
// is called. The tools are pilot_search, pilot_help, pilot_query and pilot_summary
// for the catalog of specialist agents; pilot_send, pilot_send_file, pilot_inbox
// and pilot_received for messages and files; pilot_trust_check, pilot_handshake,
// pilot_approve, pilot_reject, pilot_untrust and pilot_pending for trust;
// pilot_find, pilot_lookup, pilot_peers and pilot_ping for discovery;
// pilot_broadcast, pilot_publish and pilot_subscribe for networks and events.
// Each answer carries a [Metadata] for the host. [Effects] tells which calls only
// read, and which send, change trust or delete, so that a host can ask a person:
//
//	tools = tool.Guard(tools, func(ctx context.Context, _ fantasy.ToolInfo, call fantasy.ToolCall) error {
//		if pilot.Effects(call) == pilot.EffectRead {
//			return nil
//		}
//		return askSomebody(ctx, call)
//	})
//
// # Go API
//
//	client := &pilot.Client{FileRoot: "outgoing"} // the zero value works too
//	answer, err := client.Query(ctx, pilot.QueryInput{Agent: "bitstamp", Filters: map[string]any{"pair": "btcusd"}})
//	switch {
//	case errors.Is(err, pilot.ErrNotRunning):
//		// start the daemon
//	case err != nil:
//		return err
//	case answer.Outcome == pilot.Answered:
//		use(answer.JSON)
//	}
//
// The results hold the texts of peers as they came; what is in an [Error] or in
// Metadata is cleaned and bounded. The inputs are those of the tools. A number that
// is 0 stands for its default, except for SendInput.WaitSeconds, where 0 does not wait.
//
// # Which pilotctl
//
// [Client.Binary], else $PILOTCTL, else pilotctl in the absolute entries of PATH,
// else ~/.pilot/bin/pilotctl. Versions 1.2, 1.13 and 1.16 and later work. The
// version is asked for at most once, and only for a text that is too long for an
// argument (1.16 takes it from a file, older ones cannot) or a file over 1 MB (1.2
// cannot send it). Version 1.2 cannot wait for a reply: the client looks into the
// inbox instead. With 1.2 broadcasts are ErrUnavailable.
//
// # What a result means
//
// A message is delivered only if the receiver's acknowledgement says so; see
// [Outcome] for what else may be known. Nothing is ever sent twice, save that
// pilotctl 1.16 itself repeats a question of [Client.Search], [Client.Help],
// [Client.Query] or [Client.Summary] to an agent that it meets for the first time.
// A reply that names another message or another sender is not taken for the answer. Most peers
// do not say what they answer, though: then their next message counts, and for
// that reason only one send at a time waits for a reply of the same peer, in the
// order of the calls. Publishing and broadcasting are never acknowledged by
// anybody: success means that the daemon took the text.
//
// [Client.Approve] and [Client.Reject] look before and after, since pilotctl
// reports success also when nobody was pending. [Client.TrustCheck] reads the daemon's lists and
// pilotctl's own, and never guesses from the spelling of a name.
//
// # Limits
//
// Every run of pilotctl has a timer: what the verb waits for and 60 seconds more;
// 120 seconds for Handshake; 15 minutes for SendFile; for Ping 20 seconds a packet
// (more where timeout_seconds allows a packet more) and 25; 60 seconds for all
// others, 10 for the question for the version. A cancelled context ends pilotctl
// within half a second. At most
// [Client.MaxConcurrent] run at a time, 4 sends to one peer, and starts to one peer
// are 150 milliseconds apart, since a daemon takes 10 connections a second. Answers
// are read up to [MaxAnswer]; a model is shown at most 32 KiB, of one message in a
// list at most [MaxBody]; whatever is cut is announced.
//
// # Trust model
//
// Peers are strangers. Their texts, among them reasons, event data, file names and
// an agent's description of itself, lose control characters, are bounded, stand
// under a line that says whose words they are, and in lists behind ">", where they
// cannot pass for another entry. That makes them recognisable, not harmless: a
// model can still be talked into something, so let a person decide on what
// [Effects] calls a send, trust or deletion. An entry in the inbox does not mean a
// trusted sender, and a hostname proves nothing; the public key of [Client.Lookup]
// does.
//
// The child gets HOME, PATH, USER, LANG, LC_*, TMPDIR, XDG_RUNTIME_DIR, PILOT_*,
// PILOTCTL_*, the proxy and the SSL_CERT_* variables and nothing else: no API key
// reaches it. PILOT_ADMIN_TOKEN does, since broadcasts need it. Tokens, secrets,
// passwords and API keys by the name of their PILOT_* variable (from 6 bytes on)
// and the logins of proxies are struck out of whatever comes back; a token in
// pilotctl's own configuration is not known here and cannot be. Standard input is empty, and no shell is involved. Message
// texts are arguments of pilotctl and so visible to whoever may list the machine's
// processes, the user's own and the administrator; logs have only their sizes.
//
// [Client.SendFile] sends regular files below [Client.FileRoot], after following
// every symbolic link. It does not protect against somebody who may change that
// directory while a file is on its way. HOME must be the daemon user's, or else
// mailbox and replies are another's; PILOT_HOME does not move them.
//
// pilotctl and the daemon are trusted: a false pilotctl can do whatever the user
// can.
package pilot
