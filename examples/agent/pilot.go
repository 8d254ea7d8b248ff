package main

import (
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/fantasytools/fantasytools/pilot"
	"github.com/fantasytools/fantasytools/pilot/pilottest"
)

// pilotTools returns the tools of the Pilot network: of the real one only if
// -pilot asks for it, because there a call may write to strangers. A script has
// them in any case, on a simulated network.
func pilotTools(opts *options, scripted bool, note func(string), logger *zap.Logger) (toolset, error) {
	client := &pilot.Client{FileRoot: opts.workDir, Logger: logger}
	if !opts.pilot {
		if !scripted {
			return toolset{}, nil
		}
		return simulatedPilot(client)
	}
	if pilot.BuildTools() == nil {
		note("pilotctl is not installed; the Pilot network is simulated")
		return simulatedPilot(client)
	}
	set := pilotSet(client)
	set.summary += "the network that pilotctl reaches"
	return set, nil
}

func pilotSet(client *pilot.Client) toolset {
	tools := pilot.NewTools(client)
	return toolset{
		label:   "pilot",
		summary: fmt.Sprintf("%s and %d more; on ", names(tools[:1]), len(tools)-1),
		tools:   tools,
	}
}

// simulatedPilot points the client to a network that lives in a directory of
// its own. Its pilotctl is this program: see [pilottest.Main] in main.
func simulatedPilot(client *pilot.Client) (toolset, error) {
	dir, err := os.MkdirTemp("", "agent-pilot-")
	if err != nil {
		return toolset{}, fmt.Errorf("simulating the Pilot network: %w", err)
	}
	network, me, err := simulate(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return toolset{}, fmt.Errorf("simulating the Pilot network: %w", err)
	}
	client.Binary, client.Home, client.Socket = network.Binary, me.Home, me.Socket
	set := pilotSet(client)
	set.summary += "a simulated network, whose answers are made up"
	set.advice = "The Pilot network is simulated: what comes from it is made up. Say so when you tell of it."
	set.close = func() {
		_ = network.Close()
		_ = os.RemoveAll(dir)
	}
	return set, nil
}

// simulate makes a network of a directory, two specialists and a neighbour who
// trusts this node. The specialists are called like real ones, so that a script
// may ask the same on the real network; nobody there is called like the
// neighbour.
func simulate(dir string) (*pilottest.Network, pilottest.Node, error) {
	network, err := pilottest.Open(pilottest.Config{Dir: dir})
	if err != nil {
		return nil, pilottest.Node{}, err
	}
	const neighbour = "fantasytools-neighbour"
	me := network.AddNode(pilottest.Node{Name: "me"})
	network.AddNode(pilottest.Node{Name: neighbour})
	network.Trust(me.Name, neighbour)
	network.Answer(neighbour, pilottest.Script{Default: "It did, dash and all.", Tag: true})
	network.Directory(
		pilottest.Agent{Hostname: "bitstamp", Description: "Bitcoin and other prices at one exchange"},
		pilottest.Agent{Hostname: "coinbase", Description: "Bitcoin and other prices at another exchange"},
	)
	network.Specialist("bitstamp", pilottest.Script{
		Help: `/data {"pair":"btcusd"}: the last price of a pair`,
		Data: `{"pair":"btcusd","last":"12345.67","simulated":true}`,
		Tag:  true,
	})
	network.Specialist("coinbase", pilottest.Script{Help: "this one is mute", Tag: true})
	return network, me, network.Err()
}
