// Package providers shows what models are told of the tools of this module:
// its tests run an agent on fantasy's OpenAI, Anthropic and Google providers
// against a local server and read the requests that arrive there.
package providers
