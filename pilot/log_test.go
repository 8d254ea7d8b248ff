package pilot

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

func TestLogsHoldSizesAndNoWordsAndOnlyAtDebugLevel(t *testing.T) {
	t.Parallel()
	s := newSim(t, pilottest.V116)
	core, logs := observer.New(zapcore.DebugLevel)
	s.client.Logger = zap.New(core)
	for _, call := range [][2]string{
		{"pilot_send", `{"peer":"bob","message":"private words"}`}, {"pilot_publish", `{"peer":"bob","topic":"t","message":"private words"}`},
		{"pilot_broadcast", `{"network_id":"9","message":"private words"}`}, {"pilot_handshake", `{"target":"mallory","reason":"private words"}`},
		{"pilot_reject", `{"target":"4","reason":"private words"}`}, {"pilot_query", `{"agent":"bitstamp","filters":{"q":"private words"}}`},
	} {
		s.run(call[0], call[1])
	}
	all := ""
	for _, entry := range logs.All() {
		all += fmt.Sprintln(entry.Message, entry.ContextMap())
		if entry.Level != zapcore.DebugLevel {
			t.Errorf("%s at level %s", entry.Message, entry.Level)
		}
	}
	for _, secret := range []string{"private words", token, "hello to you"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
	for _, part := range []string{"--data=<13 bytes>", "<13 bytes>", "exit_code:0", "verb:handshake"} {
		if !strings.Contains(all, part) {
			t.Errorf("%q is missing in the log:\n%s", part, all)
		}
	}
}
