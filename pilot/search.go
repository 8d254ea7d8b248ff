package pilot

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fantasytools/fantasytools/internal/text"
)

// directory is the agent that knows the others.
const directory = "list-agents"

// SearchInput says what to look for in the directory of agents.
type SearchInput struct {
	Keyword string `json:"keyword" jsonschema:"description=One short generic word that is matched literally, such as bitcoin, weather, nba or joke; no phrase."`
	Limit   int    `json:"limit,omitempty" jsonschema:"description=How many agents to list at most.,minimum=1,maximum=100,default=10"`
}

const (
	defaultSearch = 10
	maxSearch     = 100
	maxKeyword    = 256 // bytes
)

// SearchResult is what the directory knows.
type SearchResult struct {
	Answer
	Keyword string
	Agents  []Agent // none where the directory did not answer
	Matches int     // agents that match, shown or not
	Total   int     // agents in the directory; 0 where it does not say
}

// Agent is an entry of the directory.
type Agent struct {
	Hostname    string
	Description string
	Tier        string // such as "free"
}

// Search asks the directory for agents. A Limit of 0 is 10. It waits 30
// seconds for the answer; see Answer for what may be missing.
func (c *Client) Search(ctx context.Context, in SearchInput) (*SearchResult, error) {
	return c.op("search", askWait+spareTime).search(ctx, in)
}

func (o *op) search(ctx context.Context, in SearchInput) (*SearchResult, error) {
	keyword := strings.TrimSpace(in.Keyword)
	switch {
	case keyword == "":
		return nil, o.fault(refuse("keyword is empty", "give one short word, such as weather"))
	case len(keyword) > maxKeyword:
		return nil, o.fault(refuse(fmt.Sprintf("keyword is %d bytes long; it may have %d", len(keyword), maxKeyword), "give one short word, such as weather"))
	}
	if err := plain("keyword", keyword); err != nil {
		return nil, o.fault(err)
	}
	if err := within("limit", &in.Limit, 1, maxSearch, defaultSearch); err != nil {
		return nil, o.fault(err)
	}
	request, err := encode(struct {
		Search string `json:"search"`
		Limit  int    `json:"limit"`
	}{keyword, in.Limit})
	if err != nil {
		return nil, o.fault(refuse("keyword cannot be written as JSON", "give one short word, such as weather"))
	}
	answer, err := o.ask(ctx, letter{peer: directory, field: "keyword", text: "/data " + request, wait: askWait})
	if err != nil {
		return nil, err
	}
	result := &SearchResult{Answer: *answer, Keyword: keyword}
	result.list(in.Limit)
	o.meta.Total, o.meta.Shown = result.Matches, len(result.Agents)
	return result, nil
}

// listing is what the directory answers; all of it is optional.
type listing struct {
	Tiers map[string]struct {
		Items []listed `json:"items"`
		Count int      `json:"count"`
	} `json:"tiers"`
	Items []listed `json:"items"`
	Count int      `json:"count"`
	Total int      `json:"total"`
}

type listed struct {
	Hostname    string `json:"hostname"`
	Description string `json:"description"`
	Blurb       string `json:"blurb"`
	Summary     string `json:"summary"`
	Tagline     string `json:"tagline"`
}

// list reads the entries out of the answer: those of the tiers, else the flat
// list.
func (r *SearchResult) list(limit int) {
	var data listing
	if r.JSON == nil || json.Unmarshal(r.JSON, &data) != nil {
		return
	}
	for _, tier := range slices.Sorted(maps.Keys(data.Tiers)) {
		r.add(tier, data.Tiers[tier].Items)
		r.Matches += max(data.Tiers[tier].Count, 0)
	}
	if len(r.Agents) == 0 {
		r.add("", data.Items)
	}
	r.Matches = max(r.Matches, data.Count, len(r.Agents))
	r.Total = data.Total
	r.Agents = r.Agents[:min(limit, len(r.Agents))]
}

func (r *SearchResult) add(tier string, items []listed) {
	for _, item := range items {
		if item.Hostname != "" {
			r.Agents = append(r.Agents, Agent{Hostname: item.Hostname, Description: cmp.Or(item.Description, item.Blurb, item.Summary, item.Tagline), Tier: tier})
		}
	}
}

const maxBlurb = 240 // bytes of a description that the model is shown

func (r *SearchResult) forModel() string {
	if len(r.Agents) == 0 {
		return r.nobody()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s matching %q (their own words). Next: pilot_help with a hostname.", len(r.Agents), several(r.Matches, "agent"), text.Line(r.Keyword, maxKeyword))
	for _, a := range r.Agents {
		b.WriteString("\n" + text.Line(a.Hostname, maxName))
		if blurb := text.Line(a.Description, maxBlurb); blurb != "" {
			b.WriteString(": " + blurb)
		}
	}
	return b.String()
}

// nobody tells a search without a match from a directory that did not answer
// or answered otherwise than with a list.
func (r *SearchResult) nobody() string {
	var data map[string]json.RawMessage
	if r.Reply == nil || json.Unmarshal(r.JSON, &data) != nil || data["tiers"] == nil && data["items"] == nil && data["count"] == nil {
		return r.Answer.forModel()
	}
	return fmt.Sprintf("No agent matches %q. The directory matches words literally: try one short generic word or a synonym, such as bitcoin, ticker, crypto, weather or news.", text.Line(r.Keyword, maxKeyword))
}
