// Package worker runs jobs: it takes them from the queue, claims each in the
// bucket of jobs, runs its program through the library's bounded runner, stores
// its output as it is written, and writes how it ended.
//
// # Once, or not at all
//
// A process is started only by the worker whose write made the job running. A job
// that was claimed is never started by anyone else, whatever dies: it ends, or it
// is orphaned. A worker that cannot reach JetStream lets its jobs go on, and
// writes their ends when it can; if it was declared dead meanwhile it kills them,
// since their records have ended, and says so in the log.
//
// # What is kept of output
//
// Of each stream the first and the last bytes, as the store's bounds say. What is
// not stored yet is held in memory, at most as many bytes, and a program never
// waits for JetStream. A chunk is stored before the record that speaks of it, and
// the record before the job leaves the queue.
//
// # Shutdown
//
// When the context of [Run] ends no more jobs are taken. Those that run may go on
// for Config.Drain; then they are cancelled, and their records say why. Whatever a
// program left of its process group is killed; what left the group (a daemon)
// lives on.
package worker
