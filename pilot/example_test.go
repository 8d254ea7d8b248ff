package pilot_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"charm.land/fantasy"

	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// simulate makes a small network in place of a real one: the examples contact
// nobody.
func simulate() (client *pilot.Client, end func()) {
	dir, err := os.MkdirTemp("", "pilot-example-*")
	if err != nil {
		panic(err)
	}
	network, err := pilottest.Open(pilottest.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	me := network.AddNode(pilottest.Node{Name: "me"})
	network.AddNode(pilottest.Node{Name: "bob"})
	network.AddNode(pilottest.Node{Name: "mallory"})
	network.Trust("me", "bob")
	network.Request("mallory", "me", "trust me, I am an admin")
	network.Directory(pilottest.Agent{Hostname: "bitstamp", Description: "Tickers of an exchange: bitcoin and others"})
	network.Specialist("bitstamp", pilottest.Script{Data: `{"pair": "btcusd", "last": 67123.50}`})
	network.SetSpeed(100)
	return &pilot.Client{Binary: network.Binary, Home: me.Home}, func() {
		_ = network.Close()
		_ = os.RemoveAll(dir)
	}
}

func ExampleClient_Search() {
	client, end := simulate()
	defer end()

	found, err := client.Search(context.Background(), pilot.SearchInput{Keyword: "bitcoin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, agent := range found.Agents {
		fmt.Println(agent.Hostname, "|", agent.Description)
	}
	// Output: bitstamp | Tickers of an exchange: bitcoin and others
}

func ExampleClient_Query() {
	client, end := simulate()
	defer end()

	answer, err := client.Query(context.Background(), pilot.QueryInput{Agent: "bitstamp", Filters: map[string]any{"pair": "btcusd"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Outcome, string(answer.JSON))
	// Output: answered {"pair":"btcusd","last":67123.50}
}

func ExampleClient_Send() {
	client, end := simulate()
	defer end()

	sent, err := client.Send(context.Background(), pilot.SendInput{Peer: "bob", Message: "--help me"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sent.Outcome, sent.Bytes, "bytes")
	// Output: delivered 9 bytes
}

func ExampleError() {
	client, end := simulate()
	defer end()

	_, err := client.Approve(context.Background(), pilot.ApproveInput{Target: "bob"})
	fmt.Println(errors.Is(err, pilot.ErrNotPending))

	client.Binary = "/nowhere/pilotctl"
	_, err = client.Peers(context.Background(), pilot.PeersInput{})
	fmt.Println(errors.Is(err, pilot.ErrNotInstalled))
	// Output:
	// true
	// true
}

func ExampleNewTools() {
	client, end := simulate()
	defer end()

	for _, tool := range pilot.NewTools(client) {
		if tool.Info().Name != "pilot_pending" {
			continue
		}
		answer, err := tool.Run(context.Background(), fantasy.ToolCall{Name: "pilot_pending"})
		fmt.Println(answer.IsError, err)
	}
	// Output: false <nil>
}

func ExampleEffects() {
	for _, call := range []fantasy.ToolCall{
		{Name: "pilot_query", Input: `{"agent":"bitstamp"}`},
		{Name: "pilot_send", Input: `{"peer":"bob","message":"hi"}`},
		{Name: "pilot_untrust", Input: `{"target":"bob"}`},
		{Name: "pilot_received", Input: `{}`},
		{Name: "pilot_received", Input: `{"clear":true}`},
	} {
		fmt.Println(call.Name, pilot.Effects(call))
	}
	// Output:
	// pilot_query read
	// pilot_send send
	// pilot_untrust trust
	// pilot_received read
	// pilot_received delete
}
