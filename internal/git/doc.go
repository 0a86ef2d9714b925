// Package git reads commits out of a clone, and writes a new branch into it,
// without executing anything that the clone configures.
//
// Git runs programs that a repository names: hooks, merge drivers, clean and
// smudge filters, textconv and external diff programs, fsmonitor, ssh and
// credential commands. A clone is not to be trusted with that on the machine
// of whoever consolidates it, so three rules hold for the whole package:
//
//   - In the clone itself only four questions are asked (rev-parse,
//     symbolic-ref, worktree list, and for an owner that git distrusts the
//     person's own safe.directory). None of them executes anything, and what
//     they could execute is switched off beside.
//   - All else runs in a [Scratch]: a bare repository of our own in a temporary
//     folder, with our own configuration and no attributes, that borrows the
//     clone's objects (objects/info/alternates). References are read and
//     written through the same kind of folder, with the clone's refs linked
//     into it, so that even update-ref never sees the clone's configuration.
//   - Objects come back as files: [Scratch.Install] copies pack files.
//
// Every git process gets its argument vector without a shell and a fixed, small
// environment: the caller's GIT_* variables and the configuration of system and
// person are not seen, no transport is allowed, and missing objects of partial
// clones are reported, never fetched. Names and paths from the repository never
// become arguments; object names do, after they were checked to be hexadecimal.
//
// The working tree, index, HEAD and configuration of the clone are never
// written. Git 2.38 is the oldest that will do ([MinVersion]).
package git
