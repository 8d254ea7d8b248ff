// Package agents knows who may run jobs on the daemon, and what: agents, their
// tokens and their binaries.
//
// # The file
//
//	agents:
//	  - name: me
//	    tokens: ["sha256:…"]
//	    capabilities: [job_submit, job_status, job_list, job_cancel, job_watch]
//	    workdir: .
//	    bins:
//	      - {name: sh, binary: sh}
//
// name is 1 to 64 letters, digits, underscores and dashes. tokens are hashes that
// [AddToken] writes. capabilities left out are all of them, and an empty list is
// none. workdir is where the jobs run, relative to the file; left out it is the
// file's directory. bins are entries as in the tools files of this module: name,
// description (not needed here), binary, args, env, timeout, and optional: true
// for a program of PATH that is left out where it is not installed. The keys doc,
// max_output and parallel are read and mean nothing for a job. A timeout left out
// or negative is the daemon's own limit. A program that was installed after the
// file was read is found when the file changes next, or at the next start.
//
// The file is read again within a second of a change, and at once for a token that
// is not known. A version that is wrong is logged and the one before stays in
// force, except that tokens that the wrong version no longer names are revoked if
// it can be read at all.
//
// # Trust
//
// Who may write the file may run anything as the daemon's user. Who may read it
// learns no token: they are 32 random bytes each, and only their hashes are stored.
// A job may do whatever the daemon's user may. Credentials in the daemon's
// environment are kept from jobs by the names of their variables, as package tool
// does, and that is no border against a binary that means harm.
package agents
