package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/fantasytools/fantasytools/internal/scripted"
)

// model is what answers the agent.
type model struct {
	fantasy.LanguageModel
	label    string            // for the reader
	scripted bool              // a script plays its part
	explain  func(error) error // turns an error of the service into a sentence
}

// service is a place that speaks OpenAI's chat completions.
type service struct {
	name    string // of one with an address of its own: the host
	keyVar  string // holds the key
	urlVar  string // holds the address, and chooses the service; "": it is fixed
	baseURL string
	model   string // the default; "": -model must name one
}

const openAIKeyVar = "OPENAI_API_KEY"

// services in the order in which the environment is asked for them.
//
// This program keeps to one light provider of fantasy, so that it builds fast.
// For the services' own protocols, with their prompt caches and reasoning, use
// charm.land/fantasy/providers/anthropic, openai, google, openrouter and so on:
// newServiceModel is the place.
var services = []service{
	{keyVar: openAIKeyVar, urlVar: "OPENAI_BASE_URL"},
	{name: "OpenAI", keyVar: openAIKeyVar, baseURL: "https://api.openai.com/v1", model: "gpt-5-mini"},
	{name: "OpenRouter", keyVar: "OPENROUTER_API_KEY", baseURL: "https://openrouter.ai/api/v1", model: "openai/gpt-5-mini"},
	{name: "Anthropic", keyVar: "ANTHROPIC_API_KEY", baseURL: "https://api.anthropic.com/v1", model: "claude-haiku-4-5"},
	{name: "Gemini", keyVar: "GEMINI_API_KEY", baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", model: "gemini-2.5-flash"},
}

// variable is the one that chooses the service.
func (s *service) variable() string {
	if s.urlVar != "" {
		return s.urlVar
	}
	return s.keyVar
}

// describe is the service's line in the usage.
func (s *service) describe() string {
	if s.urlVar != "" {
		return "any service that speaks OpenAI's protocol, by its address; needs -model; key: " + s.keyVar + ", if any"
	}
	return fmt.Sprintf("%s, default model %s", s.name, s.model)
}

// chooseModel returns the model of the first service that the environment
// names, or else the one that plays the script.
func chooseModel(ctx context.Context, opts *options) (*model, error) {
	if opts.scripted() {
		return newScriptModel(opts)
	}
	for _, s := range services {
		if value(s.variable()) != "" {
			return newServiceModel(ctx, s, opts.model)
		}
	}
	if opts.model != "" {
		return nil, errors.New("-model names the model of a service, and no variable chooses one (-h lists them)")
	}
	return newScriptModel(opts)
}

// value returns a variable of the environment without the blanks and line ends
// that copying a key may add.
func value(name string) string { return strings.TrimSpace(os.Getenv(name)) }

func newScriptModel(opts *options) (*model, error) {
	turns, err := readScript(opts.script)
	if err != nil {
		return nil, err
	}
	label := "none, a script plays its part (-h tells how to use one)"
	if opts.script != "" {
		label = "none, " + opts.script + " plays its part"
	}
	return &model{
		LanguageModel: &scripted.Model{Turns: turns},
		label:         label,
		scripted:      true,
		explain:       func(err error) error { return err },
	}, nil
}

func newServiceModel(ctx context.Context, s service, name string) (*model, error) {
	if s.urlVar != "" {
		s.baseURL = value(s.urlVar)
		host, err := hostOf(s.baseURL)
		if err != nil {
			return nil, fmt.Errorf("%s %w", s.urlVar, err)
		}
		s.name = host
	}
	if s.keyVar != openAIKeyVar {
		withoutOpenAISettings()
	}
	if name == "" {
		name = s.model
	}
	if name == "" {
		return nil, fmt.Errorf("%s needs -model, the name of one of its models", s.name)
	}
	key := value(s.keyVar)
	provider, err := openaicompat.New(openaicompat.WithBaseURL(s.baseURL), openaicompat.WithAPIKey(key))
	if err != nil {
		return nil, err
	}
	lm, err := provider.LanguageModel(ctx, name)
	if err != nil {
		return nil, err
	}
	return &model{
		LanguageModel: lm,
		label:         fmt.Sprintf("%s of %s", name, s.name),
		explain:       func(err error) error { return s.explain(err, name, key) },
	}, nil
}

// hostOf returns the host of a service's address. Its errors do not repeat the
// address, which may hold a password.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("is not an address such as http://localhost:11434/v1")
	}
	return u.Host, nil
}

// withoutOpenAISettings forgets variables from which the SDK below the provider
// would send headers to any service. They are meant for OpenAI.
func withoutOpenAISettings() {
	for _, name := range []string{"OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS", "OPENAI_ADMIN_KEY"} {
		_ = os.Unsetenv(name)
	}
}
