// Package program finds the program that a definition names, and makes the
// environment in which it runs: the rules that package tool documents, for
// everything that runs a definition.
//
// Credentials of this process are kept from its children by the names of their
// variables. That is no border against a child that means harm: on Linux it may
// read /proc/PID/environ of a process of its own user.
package program
