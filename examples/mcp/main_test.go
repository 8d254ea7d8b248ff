package main

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// What a client begins with.
const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// envPart makes the test binary play another part than that of the tests.
const envPart = "MCP_TEST_PART"

func TestMain(m *testing.M) {
	pilottest.Main() // started as pilotctl
	switch os.Getenv(envPart) {
	case "server":
		main()
	case "noise":
		stdout := takeStdout()
		fmt.Println("noise")
		_, _ = fmt.Fprintln(stdout, "protocol")
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
