// Package pipetest shows that children have begun and are gone, by a named pipe that
// they hold open. It is for tests, on Unix.
package pipetest
