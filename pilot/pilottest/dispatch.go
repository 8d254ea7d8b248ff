package pilottest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// globalFlags takes out what pilotctl takes out wherever it stands.
func globalFlags(g Generation, argv []string) (asJSON bool, verb string, args []string) {
	rest := make([]string, 0, len(argv))
	for _, a := range argv {
		switch {
		case a == "--json":
			asJSON = true
		case g.modern() && (a == "--verbose" || a == "-v"):
		default:
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 {
		return asJSON, "", nil
	}
	return asJSON, rest[0], rest[1:]
}

// command is a verb of pilotctl.
type command struct {
	run   func(*process) (output, error)
	usage string
	raw   bool // takes its arguments by position, flags are nothing special
	raw12 bool // only 1.2 does so
	since Generation
}

// commands is made at each run, which is once a process.
func commands() map[string]command {
	return map[string]command{
		"send-message": {run: (*process).sendMessage, usage: "send-message <address|hostname> --data <text> [--type text|json|binary]"},
		"send-file":    {run: (*process).sendFile, usage: "send-file <address|hostname> <filepath>", raw12: true},
		"inbox":        {run: (*process).inbox, usage: "inbox"},
		"received":     {run: (*process).received, usage: "received"},
		"trust":        {run: (*process).trustList, usage: "trust"},
		"trusted":      {run: (*process).trustedAgents, usage: "trusted list", since: V113},
		"pending":      {run: (*process).pendingList, usage: "pending", raw: true},
		"handshake":    {run: (*process).handshake, usage: "handshake <node_id|address|hostname> [justification]", raw: true},
		"approve":      {run: (*process).approve, usage: "approve <node_id>", raw: true},
		"reject":       {run: (*process).reject, usage: "reject <node_id> [reason]", raw: true},
		"untrust":      {run: (*process).untrust, usage: "untrust <node_id>", raw: true},
		"find":         {run: (*process).find, usage: "find <hostname>", raw: true},
		"lookup":       {run: (*process).lookup, usage: "lookup <node_id>", raw12: true},
		"peers":        {run: (*process).peers, usage: "peers"},
		"ping":         {run: (*process).ping, usage: "ping <address|hostname> [--count <n>] [--timeout <dur>]"},
		"broadcast":    {run: (*process).broadcast, usage: "broadcast <network_id> <message>"},
		"publish":      {run: (*process).publish, usage: "publish <address|hostname> <topic> --data <message>"},
		"subscribe":    {run: (*process).subscribe, usage: "subscribe <address|hostname> <topic> [--count <n>] [--timeout <dur>]"},
		"info":         {run: (*process).info, usage: "info", raw: true},
		"health":       {run: (*process).health, usage: "health", raw: true, since: V113},
		"daemon":       {run: (*process).daemonStatus, usage: "daemon status"},
		"context":      {run: (*process).context, usage: "context", raw: true},
		"version":      {run: (*process).version, usage: "version", raw: true, since: V113},
	}
}

func lookUpCommand(g Generation, verb string) (command, bool) {
	c, ok := commands()[verb]
	if !ok || c.since != "" && !g.modern() {
		return command{}, false
	}
	return c, true
}

func usesFlags(g Generation, verb string) bool {
	c, ok := lookUpCommand(g, verb)
	return ok && !c.raw && (!c.raw12 || g.modern())
}

// dispatch does the verb's work.
func (p *process) dispatch(rec *recorder) output {
	if out, done := p.withoutCommand(); done {
		return out
	}
	c, ok := lookUpCommand(p.gen, p.verb)
	if !ok {
		return p.unknownCommand()
	}
	if p.gen.modern() && (slices.Contains(p.args, "-h") || slices.Contains(p.args, "--help")) {
		return output{raw: true, stderr: []byte("usage: pilotctl " + c.usage + "\n")}
	}
	f := flagSet{pos: p.args, vals: map[string]string{}}
	if usesFlags(p.gen, p.verb) {
		f = parseFlags(p.gen, p.args)
	}
	p.flags = &f
	rec.parsed(p)
	out, err := c.run(p)
	rec.call.Data = p.payload
	return p.conclude(out, err)
}

// conclude turns an error into what is printed for it.
func (p *process) conclude(out output, err error) output {
	if err == nil {
		return out
	}
	if errors.Is(err, errHang) {
		hangForEver()
	}
	f, ok := asFailure(err)
	if !ok {
		return output{raw: true, stderr: []byte("pilottest: " + err.Error() + "\n"), status: statusOfTheFake}
	}
	p.sleep(f.after)
	failed := p.failed(f)
	failed.stderr = out.stderr
	return failed
}

func (p *process) withoutCommand() (output, bool) {
	if p.gen == V116 && p.verb == "--version" {
		return textOnly(p.gen.version() + "\n"), true
	}
	if p.gen == V116 && slices.Contains([]string{"help", "-h", "--help"}, p.verb) {
		return textOnly(usageText()), true
	}
	isHelp := p.gen == V113 && (p.verb == "-h" || p.verb == "--help")
	if len(p.argv) == 0 || p.verb == "" || isHelp {
		return output{raw: true, stderr: []byte(usageText()), status: 2}, true
	}
	return output{}, false
}

func (p *process) unknownCommand() output {
	f := fail("invalid_argument", "unknown command: %s", p.verb)
	if p.json {
		return p.failed(f)
	}
	return output{raw: true, stderr: []byte(errorText(f) + usageText()), status: 2}
}

func usageText() string {
	all := slices.Sorted(maps.Keys(commands()))
	return "usage: pilotctl <command> [arguments] [--json]\n\ncommands: " + strings.Join(all, ", ") + "\n"
}

func (p *process) usageError() *failure {
	c := commands()[p.verb]
	return fail("invalid_argument", "usage: pilotctl %s", c.usage)
}

func (p *process) version() (output, error) { return textOnly(p.gen.version() + "\n"), nil }

func (p *process) context() (output, error) {
	list := map[string]any{}
	for name, c := range commands() {
		if _, ok := lookUpCommand(p.gen, name); ok {
			list[name] = map[string]any{"args": strings.Fields(c.usage)[1:]}
		}
	}
	v := strings.TrimPrefix(p.gen.version(), "v")
	if p.gen == V12 {
		v = "1.2"
	}
	return p.ok(map[string]any{"version": v, "commands": list}), nil
}

// withDaemon runs fn under the network's lock with the node whose daemon
// listens at the process's socket.
func (p *process) withDaemon(fn func(s *state, self *node) error) error {
	return p.net.update(func(s *state) error {
		i := slices.IndexFunc(s.Nodes, func(n *node) bool { return n.socket() == p.socket })
		if i < 0 || s.Nodes[i].Daemon == daemonStopped {
			return p.notRunning()
		}
		if s.Nodes[i].Daemon == daemonFrozen {
			return errHang
		}
		return fn(s, s.Nodes[i])
	})
}

func (p *process) notRunning() *failure {
	f := fail("not_running", "daemon is not running")
	if p.gen.modern() {
		return f.withHint("start the daemon with: pilotctl daemon start (tried %s)", p.socket)
	}
	return f.withHint("start the daemon with: pilotctl daemon start")
}

func (p *process) cannotResolve(code, arg string) *failure {
	return fail(code, "cannot resolve %q — is the hostname correct and is there mutual trust? (see: pilotctl handshake)", arg)
}

// mailHome is the directory in which pilotctl looks for mail and files: by
// HOME only, wherever the daemon is.
func (p *process) mailHome() (string, error) {
	if p.home == "" {
		return "", fail("internal", "cannot determine home directory")
	}
	return p.home, nil
}

func notFoundFile(path string) *failure { return fail("not_found", "file not found: %s", path) }

func quoteTarget(id uint32) string { return fmt.Sprintf("node %d", id) }
